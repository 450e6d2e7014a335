import { lazy, type ComponentType, type LazyExoticComponent } from 'react'

/**
 * A part whose file is loaded when it is first shown. Where that fails, `Plain` stands for it until the page is loaded
 * anew.
 */
export function lazyOr<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Plain: ComponentType<Props>,
): LazyExoticComponent<ComponentType<Props>> {
  return lazy(async () => {
    try {
      return { default: await load() }
    } catch {
      return { default: Plain }
    }
  })
}
