/** Posts webhooks over HTTP. It follows no redirect, and never reads the body of an answer. */
import type { Posted, WebhookPost } from "../../ports/webhooks.ts";

export async function postWebhook({ url, headers, body, timeoutMs }: WebhookPost): Promise<Posted> {
  try {
    const answer = await fetch(url, {
      method: "POST",
      headers,
      body,
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    // An answer may be endless, and its text may be anything.
    await answer.body?.cancel();
    return { kind: "answered", status: answer.status };
  } catch (error) {
    return { kind: "unreachable", why: wordsOf(error, timeoutMs) };
  }
}

/** The error of the connection is the cause of the one that is thrown. */
function wordsOf(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === "TimeoutError") return `no answer came within ${timeoutMs / 1_000} s`;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
  return `it cannot be reached${code}`;
}
