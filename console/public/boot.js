// Before the first paint: the theme, so that a dark page never flashes white, and the language. Each reader loads one file of texts.
;(function () {
  var root = document.documentElement
  function stored(name) {
    try {
      return localStorage.getItem(name)
    } catch {
      // A browser without storage follows the system.
      return null
    }
  }
  var wish = stored('mantine-color-scheme-value')
  var dark = wish === 'dark' || (wish !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  root.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light')

  var language = stored('tollgate-language')
  if (language !== 'en' && language !== 'ru')
    language = navigator.languages
      .map(function (name) {
        return name.slice(0, 2)
      })
      .find(function (name) {
        return name === 'en' || name === 'ru'
      })
  root.lang = language === 'ru' ? 'ru' : 'en'

  document.title = stored('tollgate-name') || 'Tollgate'

  // What the page will ask for once its scripts run, asked for together with them.
  function ahead(href, rel, as) {
    var link = document.createElement('link')
    link.rel = rel
    link.href = href
    // The scripts ask for both without the credentials of another origin; a preload with others would be loaded twice.
    if (as !== undefined) Object.assign(link, { as: as, crossOrigin: '' })
    document.head.append(link)
  }
  var entered = (stored('tollgate-entered') || 'no') !== 'no'
  var given = document.currentScript.dataset
  var texts = given[root.lang === 'ru' ? 'textsRu' : 'textsEn']
  // The second file is that of the pages behind the first one.
  if (texts !== undefined)
    texts.split(' ').forEach(function (file, index) {
      if (index === 0 || (entered && location.pathname !== '/')) ahead(file, 'modulepreload')
    })
  var files = given.pages === undefined ? undefined : JSON.parse(given.pages)[location.pathname]
  if (files !== undefined)
    files.forEach(function (file) {
      if (file.endsWith('.css')) ahead(file, 'preload', 'style')
      else ahead(file, 'modulepreload')
    })
  // The balance above every page of somebody who has signed in here before.
  if (entered) ahead('/cabinet/v1/summary', 'preload', 'fetch')

  // A file that is missing, because the line broke or a new release has other names, is said in the page.
  function fail() {
    var failed = document.getElementById('boot-failed')
    if (failed === null) return
    failed.hidden = false
    document.getElementById('boot-wait').hidden = true
  }
  addEventListener(
    'error',
    function (event) {
      if (event.target instanceof HTMLScriptElement || event.target instanceof HTMLLinkElement) fail()
    },
    true,
  )
  addEventListener('tollgate-boot-failed', fail)
})()
