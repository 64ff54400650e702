/**
 * Bytes that grow at their end, such as the journal of a run. Each longer version shares the memory of the one before,
 * and its digest goes on from there, so a commit costs what it adds.
 */
import { type Hash, createHash, hash } from "node:crypto";

/** Memory with a little room behind the newest version. `hashed`: of so many bytes `digest` is. */
interface Room {
  readonly bytes: Buffer;
  used: number;
  readonly digest: Hash;
  hashed: number;
}

const rooms = new WeakMap<Uint8Array, Room>();

/** Room for so much more than is needed is taken at once, so that few versions are copied. */
const GROWTH = 1.5;

/** The bytes of `before` with these pieces behind them. The caller changes neither afterwards. */
export function grownBy(before: Uint8Array, pieces: readonly Uint8Array[]): Uint8Array {
  const length = pieces.reduce((sum, { byteLength }) => sum + byteLength, before.byteLength);
  const room = roomBehind(before, length) ?? copied(before, length);
  for (const piece of pieces) {
    room.bytes.set(piece, room.used);
    room.used += piece.byteLength;
  }
  const grown = room.bytes.subarray(0, length);
  rooms.set(grown, room);
  return grown;
}

/** Its room if it is the newest version there. Another version that grew from the same bytes has taken the room. */
function roomBehind(before: Uint8Array, length: number): Room | undefined {
  const room = rooms.get(before);
  return room?.used === before.byteLength && length <= room.bytes.byteLength ? room : undefined;
}

function copied(before: Uint8Array, length: number): Room {
  const bytes = Buffer.alloc(Math.ceil(length * GROWTH));
  bytes.set(before);
  return { bytes, used: before.byteLength, digest: createHash("sha256"), hashed: 0 };
}

/** The SHA-256 digest, with little work for bytes that have grown here. */
export function sha256Of(bytes: Uint8Array): Buffer {
  const room = rooms.get(bytes);
  if (room === undefined || room.hashed > bytes.byteLength) return hash("sha256", bytes, "buffer");
  room.digest.update(room.bytes.subarray(room.hashed, bytes.byteLength));
  room.hashed = bytes.byteLength;
  return room.digest.copy().digest();
}
