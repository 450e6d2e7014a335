export { siteConfig as default } from '../../scripts/site/config.ts'
