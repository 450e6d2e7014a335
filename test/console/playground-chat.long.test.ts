import '../long/console/playground-chat.test.ts'
