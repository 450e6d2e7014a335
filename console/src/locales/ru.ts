import { tables } from 'virtual:table-texts/ru'
import own from './ru.json'

export const texts = { ...own, ...tables }
