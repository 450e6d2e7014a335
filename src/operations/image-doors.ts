import type { Picture } from '../kinds/images/bytes.ts'
import { parseImageEdit, parseImageVariation, type ImageInput } from '../kinds/images/edits.ts'
import { SOURCES_MAX, type ImageRequest } from '../kinds/images/request.ts'
import type { AdapterTable } from '../providers/ports/adapter.ts'
import type { Operation } from '../relay/operation.ts'
import { imageKind, type KeepPictures } from './image-kind.ts'
import { withSession, type OperationInput, type PaidKind } from './paid-kind.ts'
import { unitOperation } from './unit.ts'

/** Keeps a picture for a while; answers its path after `publicUrl`. */
export interface KeptPictures {
  keep(accountId: string, picture: Picture): Promise<string>
}

type ImageOperations = (request: ImageRequest, input: Pick<OperationInput, 'sessionId' | 'publicUrl'>) => Operation

export function imageOperations(adapters: AdapterTable, pictures: KeptPictures): ImageOperations {
  return (request, { sessionId, publicUrl }) => {
    const keep: KeepPictures = (accountId, all) =>
      Promise.all(all.map(async (picture) => publicUrl + (await pictures.keep(accountId, picture))))
    return unitOperation(withSession(request, sessionId), imageKind(adapters, keep))
  }
}

/** OpenAI's other calls for pictures (clients.md 6), each as a request of the image type. */
export function imageDoors(operation: ImageOperations): readonly PaidKind[] {
  const door = (path: string, parse: (input: ImageInput) => ImageRequest): PaidKind => ({
    body: 'json-or-multipart',
    // And one for a mask.
    filesMax: SOURCES_MAX + 1,
    paths: [path],
    read: (input) => operation(parse(input.form === null ? { json: input.json } : { form: input.form }), input),
  })
  return [door('/v1/images/edits', parseImageEdit), door('/v1/images/variations', parseImageVariation)]
}
