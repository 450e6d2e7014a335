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

  var texts = document.currentScript.getAttribute('data-texts-' + root.lang)
  if (texts !== null) {
    var link = document.createElement('link')
    link.rel = 'modulepreload'
    link.href = texts
    document.head.append(link)
  }

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
