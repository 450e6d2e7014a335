import '../long/crash/video-kill9.test.ts'
