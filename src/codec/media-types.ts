/**
 * Media types: those that the first bytes of a file prove, those that its name suggests, and those that a browser may
 * be told. A page or a script from a tool must never run in the origin of the API, so every other type is served as bytes.
 */

/** Types that their first bytes prove. A file that declares one of them must begin so. */
const SIGNATURES: readonly { readonly type: string; readonly at: number; readonly bytes: string }[] = [
  { type: "image/png", at: 0, bytes: "89504e470d0a1a0a" },
  { type: "image/jpeg", at: 0, bytes: "ffd8ff" },
  { type: "image/gif", at: 0, bytes: "47494638" },
  { type: "image/webp", at: 8, bytes: "57454250" },
  { type: "application/pdf", at: 0, bytes: "255044462d" },
];

export const MAGIC_TYPES: ReadonlySet<string> = new Set(SIGNATURES.map(({ type }) => type));

/** The type that the first bytes prove; null if none. */
export function sniffed(bytes: Uint8Array): string | null {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(16, bytes.byteLength)).toString("hex");
  const found = SIGNATURES.find(({ at, bytes: signature }) => hex.startsWith(signature, 2 * at));
  return found?.type === "image/webp" && !hex.startsWith("52494646") ? null : (found?.type ?? null);
}

/** What a name suggests, for types without a signature here. */
export const EXTENSIONS: Readonly<Record<string, string>> = {
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  xml: "application/xml",
  json: "application/json",
  zip: "application/zip",
  svg: "image/svg+xml",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  ogg: "audio/ogg",
  mp4: "video/mp4",
  webm: "video/webm",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

/** The content type with which a file is served. */
export function servedAs(mediaType: string): string {
  if (MAGIC_TYPES.has(mediaType) || /^(audio|video)\/[a-z0-9.+-]+$/.test(mediaType)) return mediaType;
  return mediaType === "text/plain" || mediaType === "text/csv"
    ? `${mediaType}; charset=utf-8`
    : "application/octet-stream";
}

/** The header that makes a browser save the file and never show it. The name is encoded as RFC 8187 says. */
export function savedAs(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (each) => `%${each.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}
