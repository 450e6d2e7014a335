import './operator-prices.test.ts'
