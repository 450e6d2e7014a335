import './lost-commit.test.ts'
