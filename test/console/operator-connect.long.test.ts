import '../long/console/operator-connect.test.ts'
