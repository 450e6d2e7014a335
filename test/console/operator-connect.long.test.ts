import './operator-connect.test.ts'
