import { SDK_ADAPTER } from '../../catalog/sdk-package.ts'
import type { Adapter } from '../adapter.ts'
import type { FileFetch } from '../file-fetch.ts'
import type { Transport } from '../transport.ts'
import { SDK_PARAMETERS } from './call-options.ts'
import { SdkCall } from './sdk-call.ts'
import { sdkImages } from './sdk-images.ts'
import { SdkPackages } from './sdk-packages.ts'

/** Providers without an adapter of their own, through the packages of the Vercel AI SDK: the row of the catalogue names the package. */
export function createAiSdk(transport: Transport, now: () => number, files: FileFetch): Adapter {
  const packages = new SdkPackages()
  return {
    name: SDK_ADAPTER,
    supportedParameters: SDK_PARAMETERS,
    chat: (call, sink) => new SdkCall({ packages, transport, now }, call, sink),
    unitParameters: { image: ['n', 'size', 'aspect_ratio', 'image', 'seed'] },
    images: sdkImages({ packages, transport, now, files }),
  }
}
