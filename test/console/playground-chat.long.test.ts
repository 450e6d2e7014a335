import './playground-chat.test.ts'
