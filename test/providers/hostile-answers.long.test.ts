import '../long/providers/hostile-answers.test.ts'
