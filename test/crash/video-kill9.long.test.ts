import './video-kill9.test.ts'
