import './stalls-upstreams.test.ts'
