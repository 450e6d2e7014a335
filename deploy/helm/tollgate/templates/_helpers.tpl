{{- define "tollgate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 52 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tollgate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tollgate.labels" -}}
{{ include "tollgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tollgate.secret" -}}
{{ .Values.existingSecret | default (include "tollgate.name" .) }}
{{- end }}

{{- define "tollgate.checked" -}}
{{- if not (has .Values.store (list "embedded" "postgres")) }}{{ fail (printf "store is embedded or postgres, not %q" .Values.store) }}{{ end }}
{{- if and (eq .Values.store "postgres") (not .Values.existingSecret) }}
{{- range list "DATABASE_URL" "TOLLGATE_KEK" }}{{ if not (hasKey $.Values.secrets .) }}{{ fail (printf "store: postgres needs secrets.%s" .) }}{{ end }}{{ end }}
{{- end }}
{{- end }}

{{- define "tollgate.pod" -}}
metadata:
  labels: {{- include "tollgate.selector" . | nindent 4 }}
  annotations:
    # A changed setting or catalogue starts new pods.
    checksum/settings: {{ print (toJson .Values.secrets) (toJson .Values.settings) .Values.catalogue | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  # Five seconds of refusals, then 120 for answers that run.
  terminationGracePeriodSeconds: 130
  automountServiceAccountToken: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile: { type: RuntimeDefault }
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: tollgate
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      ports: [{ name: http, containerPort: 8080 }]
      envFrom:
        - secretRef: { name: {{ include "tollgate.secret" . }} }
        {{- if .Values.settings }}
        - configMapRef: { name: {{ include "tollgate.name" . }}-settings }
        {{- end }}
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 2
        failureThreshold: 60
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 2
        failureThreshold: 1
      # Not /readyz: a restart mends no database.
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 4
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- if .Values.catalogue }}
        - { name: catalogue, mountPath: /etc/tollgate, readOnly: true }
        {{- end }}
  volumes:
    - { name: tmp, emptyDir: {} }
    {{- if eq .Values.store "postgres" }}
    - { name: data, emptyDir: {} }
    {{- end }}
    {{- if .Values.catalogue }}
    - { name: catalogue, configMap: { name: {{ include "tollgate.name" . }}-catalogue } }
    {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
