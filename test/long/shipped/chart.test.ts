import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { builtProgram, schemaFindings, SCHEMAS } from '../../harness/program.ts'
import { freshFolder } from '../../harness/lasting.ts'

const ROOT = join(import.meta.dirname, '../../..')
const CHART = join(ROOT, 'deploy/helm/tollgate')
/** `.ci/run` installs it where there is a Go to build it with. */
const HELM = builtProgram('helm')
const VALIDATE = join(ROOT, 'node_modules/.cache/python/bin/kubernetes-validate')
const SECRETS = ['--set', 'secrets.TOLLGATE_KEK=k,secrets.DATABASE_URL=postgres://db/tollgate']

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels: Record<string, string> }
  // Each kind of Kubernetes has its own form; the assertions are the type check.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly spec: any
  readonly data?: Record<string, string>
}

/** A helm that is built from its source knows no version of Kubernetes, and takes an old one. */
function helm(...words: readonly string[]) {
  return spawnSync(HELM ?? 'helm', [...words, '--kube-version', '1.31.0'], { cwd: ROOT, encoding: 'utf8' })
}

/** What the chart makes, by kind. */
function rendered(...words: readonly string[]): ReadonlyMap<string, Resource> {
  const { status, stdout, stderr } = helm('template', 'prod', CHART, ...words)
  assert.equal(status, 0, stderr)
  const all = parseAllDocuments(stdout).flatMap((document): Resource[] => document.toJS() ?? [])
  for (const { kind, metadata } of all) assert.equal(metadata.labels['app.kubernetes.io/instance'], 'prod', kind)
  return new Map(all.map((resource) => [`${resource.kind} ${resource.metadata.name}`, resource]))
}

/** Of the pod, what keeps it shut in and lets it end. */
function checkPod(template: Resource['spec']): void {
  const { spec } = template
  const [container] = spec.containers
  assert.ok(spec.terminationGracePeriodSeconds >= 130)
  assert.deepEqual([spec.securityContext.runAsNonRoot, spec.securityContext.runAsUser], [true, 65_532])
  assert.deepEqual(
    [container.securityContext.readOnlyRootFilesystem, container.securityContext.capabilities.drop],
    [true, ['ALL']],
  )
  assert.equal(container.readinessProbe.httpGet.path, '/readyz')
  assert.equal(container.livenessProbe.httpGet.path, '/healthz')
  const mounted = container.volumeMounts.map(({ name }: { name: string }) => name)
  const volumes = spec.volumes.map(({ name }: { name: string }) => name)
  assert.deepEqual(
    mounted.filter((name: string) => name !== 'data' && !volumes.includes(name)),
    [],
  )
}

function checkMonitor(monitor: Resource | undefined): void {
  assert.ok(monitor !== undefined)
  const folder = freshFolder()
  const findings = (one: unknown): string => {
    writeFileSync(join(folder, 'monitor.yaml'), JSON.stringify(one))
    return schemaFindings('monitor', join(folder, 'monitor.yaml'))
  }
  try {
    assert.equal(findings(monitor), '')
    assert.match(findings({ ...monitor, spec: { ...monitor.spec, endpoint: [] } }), /unknown field "endpoint"/)
  } finally {
  }
}

if (HELM === null) process.stdout.write('No helm on this machine: the chart is not checked.\n')
else {
  test('the chart has no finding of helm lint', () => {
    const { status, stdout } = helm('lint', '--strict', CHART)
    assert.equal(status, 0, stdout)
  })

  test('embedded: one pod with a volume, whatever else is asked', () => {
    const made = rendered(
      '--set',
      'replicas=5,autoscaling.enabled=true',
      '--set',
      'catalogue=markup: 1.2\nfetch_urls: false\n',
    )
    assert.deepEqual([...made.keys()].toSorted(), [
      'ConfigMap prod-tollgate-catalogue',
      'Secret prod-tollgate',
      'Service prod-tollgate',
      'StatefulSet prod-tollgate',
    ])
    const { spec } = made.get('StatefulSet prod-tollgate') ?? assert.fail()
    assert.equal(spec.replicas, 1)
    assert.equal(spec.volumeClaimTemplates[0].metadata.name, 'data')
    assert.equal(
      made.get('ConfigMap prod-tollgate-catalogue')?.data?.['tollgate.yaml'],
      'markup: 1.2\nfetch_urls: false\n',
    )
    checkPod(spec.template)
  })

  test('postgres: equal pods, a budget, autoscaling, and a monitor with the admin token', () => {
    const made = rendered(
      ...SECRETS,
      '--set',
      'store=postgres,autoscaling.enabled=true,serviceMonitor.enabled=true',
      '--set',
      'ingress.enabled=true',
    )
    const { spec } = made.get('Deployment prod-tollgate') ?? assert.fail()
    assert.equal(spec.replicas, undefined, 'the autoscaler decides')
    assert.equal(spec.strategy.rollingUpdate.maxUnavailable, 0)
    checkPod(spec.template)
    for (const kind of ['PodDisruptionBudget', 'HorizontalPodAutoscaler', 'ServiceMonitor', 'Ingress'])
      assert.ok(made.has(`${kind} prod-tollgate`), kind)
    assert.equal(rendered(...SECRETS, '--set', 'store=postgres').get('Deployment prod-tollgate')?.spec.replicas, 2)
    const changed = rendered(...SECRETS, '--set', 'store=postgres,settings.TOLLGATE_LOG_LEVEL=debug')
    assert.notDeepEqual(
      changed.get('Deployment prod-tollgate')?.spec.template.metadata.annotations,
      spec.template.metadata.annotations,
      'a changed setting starts new pods',
    )
  })

  test('each resource is one that Kubernetes takes, without a field that it does not know', (context) => {
    if (!existsSync(VALIDATE)) return context.skip('no kubernetes-validate')
    const folder = freshFolder()
    const everything = 'autoscaling.enabled=true,serviceMonitor.enabled=true,ingress.enabled=true,catalogue=markup: 1.2'
    for (const store of ['embedded', 'postgres']) {
      const made = rendered(...SECRETS, '--set', `store=${store},${everything}`)
      // The monitor's form is that of the Prometheus operator.
      const resources = [...made.values()].filter(({ kind }) => kind !== 'ServiceMonitor')
      const findings = (name: string, all: readonly unknown[]): string => {
        const file = join(folder, `${name}.yaml`)
        writeFileSync(file, all.map((one) => `---\n${JSON.stringify(one)}\n`).join(''))
        const { status, stdout, stderr } = spawnSync(VALIDATE, ['--strict', file], { encoding: 'utf8' })
        return status === 0 ? '' : `${stdout}${stderr}`
      }
      assert.equal(findings(store, resources), '')
      const [first = assert.fail()] = resources
      assert.notEqual(findings('wrong', [{ ...first, sepc: {} }]), '', 'a field that is not there is found')
    }
  })

  if (SCHEMAS !== null)
    test('the monitor is one that the Prometheus operator takes', () => {
      const made = rendered(...SECRETS, '--set', 'store=postgres,serviceMonitor.enabled=true')
      checkMonitor(made.get('ServiceMonitor prod-tollgate'))
    })

  test('values that cannot work are refused with a sentence', () => {
    assert.match(
      helm('template', 'x', CHART, '--set', 'store=mysql').stderr,
      /store is embedded or postgres, not "mysql"/,
    )
    assert.match(
      helm('template', 'x', CHART, '--set', 'store=postgres').stderr,
      /store: postgres needs secrets\.DATABASE_URL/,
    )
  })
}
