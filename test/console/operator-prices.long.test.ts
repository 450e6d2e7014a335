import '../long/console/operator-prices.test.ts'
