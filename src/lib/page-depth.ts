/**
 * Rows that a page of a list may skip: they are read, so a page further down would cost more than one at the top.
 * Further on, a cursor names the row before the page.
 */
export const PAGE_DEPTH_MAX = 10_000
