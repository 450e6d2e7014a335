import type { PaidRoomRow } from './paid-room.ts'
import { RESPONSES_ROOM } from './responses/room.ts'
import { VIDEO_ROOM } from './videos/room.ts'

const TABLE: Readonly<Record<string, PaidRoomRow>> = {
  videos: VIDEO_ROOM,
  responses: RESPONSES_ROOM,
}

/** The rooms of the paid path. */
export const PAID_ROOMS: readonly PaidRoomRow[] = Object.values(TABLE)
