/** Files that a program sends with a start or a message. It uses nothing that browsers lack. */

/** A file to send. The whole request has 2.5 MB at most, so the files of one request have about 1.8 MB. */
export interface ClientFile {
  readonly name: string;
  /** Absent: what its first bytes and its name say. */
  readonly mediaType?: string;
  readonly bytes: Uint8Array;
}

/** The field of a request for these files. */
export const sent = (files: readonly ClientFile[]) =>
  files.length === 0 ? {} : { files: files.map(({ bytes, ...of }) => ({ ...of, base64: base64Of(bytes) })) };

/** A call takes a bounded number of arguments. */
const AT_ONCE = 8 * 1024;

function base64Of(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += AT_ONCE) binary += String.fromCharCode(...bytes.subarray(at, at + AT_ONCE));
  return btoa(binary);
}
