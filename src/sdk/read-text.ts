/** Reads the text of an HTTP answer, up to a bound: an answer may be endless. */

/** The text in the charset that the answer names; null if it has more bytes than that. The rest is not read. */
export async function readText({ body, headers }: Response, bytesMax: number): Promise<string | null> {
  const decoder = decoderFor(headers.get("content-type") ?? "");
  let [text, bytes] = ["", 0];
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function decoderFor(contentType: string): TextDecoder {
  const [, charset = "utf-8"] = /charset="?([\w-]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}
