// Before the first paint, so that a dark page never flashes white.
;(function () {
  var wish = null
  try {
    wish = localStorage.getItem('mantine-color-scheme-value')
  } catch {
    // A browser without storage follows the system.
  }
  var dark = wish === 'dark' || (wish !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches)
  document.documentElement.setAttribute('data-mantine-color-scheme', dark ? 'dark' : 'light')
})()
