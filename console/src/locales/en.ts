import { tables } from 'virtual:table-texts/en'
import own from './en.json'

export const texts = { ...own, ...tables }
