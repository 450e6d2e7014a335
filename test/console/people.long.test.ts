import '../long/console/people.test.ts'
