import './clock/stalls-upstreams.test.ts'
