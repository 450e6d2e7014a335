import './people.test.ts'
