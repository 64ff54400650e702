/**
 * Rewrites a PNG with a palette of its most frequent colours. The picture of a page has few colours besides the soft edges
 * of letters, so it keeps its look at a third of its size.
 */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const COLOURS = 224;

interface Pixels {
  readonly width: number;
  readonly height: number;
  /** Three bytes a pixel. */
  readonly rgb: Buffer;
}

/** `png`: 8 bits for each of red, green and blue, and for alpha if it has one; not interlaced. */
export function quantised(png: Buffer): Buffer {
  const { width, height, rgb } = pixelsOf(png);
  const counts = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = rgb.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const palette = [...counts]
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, COLOURS)
    .map(([colour]) => colour);
  const places = new Map(palette.map((colour, index) => [colour, index]));
  const rows = Buffer.alloc(height * (width + 1));
  for (let y = 0, from = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, from += 3) {
      const colour = rgb.readUIntBE(from, 3);
      const place = places.get(colour) ?? nearest(palette, colour);
      places.set(colour, place);
      rows[y * (width + 1) + 1 + x] = place;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const table = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const body = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([
    png.subarray(0, 8),
    chunk("IHDR", header),
    chunk("PLTE", table),
    chunk("IDAT", body),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function nearest(palette: readonly number[], colour: number): number {
  let [best, least] = [0, Infinity];
  for (const [index, each] of palette.entries()) {
    const away =
      ((each >> 16) - (colour >> 16)) ** 2 +
      (((each >> 8) & 255) - ((colour >> 8) & 255)) ** 2 +
      ((each & 255) - (colour & 255)) ** 2;
    if (away < least) [best, least] = [index, away];
  }
  return best;
}

function chunk(name: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, "latin1"), content]);
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  size.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([size, named, sum]);
}

function pixelsOf(png: Buffer): Pixels {
  const [width, height, depth, kind] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25]];
  if (depth !== 8 || (kind !== 2 && kind !== 6)) throw new Error("the PNG has another form than that of a screenshot");
  const channels = kind === 2 ? 3 : 4;
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const raw = unfiltered(inflateSync(Buffer.concat(parts)), { rowBytes: width * channels, height, channels });
  const rgb = Buffer.alloc(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel += 1) {
    for (let part = 0; part < 3; part += 1) rgb[pixel * 3 + part] = raw[pixel * channels + part] ?? 0;
  }
  return { width, height, rgb };
}

/** Takes back the filter of each row (PNG, section 9). */
function unfiltered(
  rows: Buffer,
  of: { readonly rowBytes: number; readonly height: number; readonly channels: number },
): Buffer {
  const { rowBytes, height, channels } = of;
  const out = Buffer.alloc(rowBytes * height);
  for (let y = 0; y < height; y += 1) {
    const filter = rows[y * (rowBytes + 1)] ?? 0;
    for (let x = 0; x < rowBytes; x += 1) {
      const at = y * rowBytes + x;
      const left = x >= channels ? (out[at - channels] ?? 0) : 0;
      const up = y > 0 ? (out[at - rowBytes] ?? 0) : 0;
      const corner = x >= channels && y > 0 ? (out[at - rowBytes - channels] ?? 0) : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[at] = (rows[y * (rowBytes + 1) + 1 + x] ?? 0) + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [toLeft, toUp, toCorner] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}
