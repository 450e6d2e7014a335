import { startTollgate, type Tollgate } from '../harness/server.ts'
import { catalogOf } from './money.ts'
import { ScriptedModel } from './scripted-model.ts'

/** A server with one model of each protocol, and the scripted provider of them all. */
export interface ScriptedGateway {
  readonly model: ScriptedModel
  readonly tollgate: Tollgate
  /** Stops both, whatever the audit finds. */
  stop(): Promise<void>
}

/** For a suite's `before`: hooks outside a suite are left half-run when no test is chosen. */
export async function startScriptedGateway(): Promise<ScriptedGateway> {
  const model = await ScriptedModel.start()
  try {
    const tollgate = await startTollgate({ catalog: catalogOf(model.url) })
    return { model, tollgate, stop: () => tollgate.stop().finally(() => model.close()) }
  } catch (thrown) {
    await model.close()
    throw thrown
  }
}
