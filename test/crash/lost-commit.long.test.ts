import '../long/crash/lost-commit.test.ts'
