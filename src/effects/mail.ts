/**
 * A mail as the effect of a tool. Mail servers deduplicate nothing and cannot be asked, so the class is `unsafe`: after
 * a crash in the middle of a call, an operator says whether the mail left. The user may have a probe, such as a search
 * in the mailbox of sent mail; then it is `probed`. The `Message-ID` derives from the key of the call, so every attempt
 * has the same one, and the probe and the operator can search for it.
 */
import { createHash } from "node:crypto";
import type * as z from "zod";
import type { Probe, ProbeContext, Tool } from "../ports/agent.ts";
import { tool } from "../sdk/define.ts";
import type { MailMessage, MailSender } from "./mail-senders.ts";
import type { RequestContext, ToolSettings } from "./settings.ts";

/** How a mail is found: its `Message-ID`, and its tag in the header `X-Cairn-Key`. */
export interface MailName {
  readonly messageId: string;
  readonly tag: string;
}

export interface MailEffectOptions<Schema extends z.ZodType> {
  readonly sender: MailSender;
  readonly message: (context: RequestContext<z.output<Schema>>) => MailMessage | Promise<MailMessage>;
  /** The domain of the `Message-ID`. */
  readonly domain: string;
  /** Whether the mail was sent. It makes the tool `probed`; its result is what `run` would have returned. */
  readonly probe?: (context: ProbeContext<z.output<Schema>> & MailName) => Probe | Promise<Probe>;
}

/**
 * A tool whose calls send mail.
 *
 * @example
 *   const invite = mailEffect({
 *     input: z.object({ to: z.email(), text: z.string() }),
 *     sender: smtpSender(createTransport({ host: "smtp.example", port: 587 })),
 *     domain: "example.org",
 *     message: ({ input }) => ({ from: "office@example.org", subject: "Invitation", ...input }),
 *   });
 */
export function mailEffect<Schema extends z.ZodType>(
  options: ToolSettings<Schema> & MailEffectOptions<Schema>,
): Tool<Schema> {
  const { sender, message, domain, probe, ...settings } = options;
  const found =
    probe && ((context: ProbeContext<z.output<Schema>>) => probe({ ...context, ...mailName(context.key, domain) }));
  return tool({
    externalId: (result) => (result as { readonly id: string }).id,
    ...settings,
    ...(found === undefined ? { effect: "unsafe" as const } : { effect: "probed" as const, probe: found }),
    run: async (context) =>
      sender.send({ ...mailName(context.key, domain), message: await message(context), signal: context.signal }),
  });
}

/** The names of the mail of that call. A business key may contain what a `Message-ID` may not, so it is hashed. */
export function mailName(key: string, domain: string): MailName {
  const tag = createHash("sha256").update(key).digest("hex").slice(0, 40);
  return { messageId: `<${tag}@${domain}>`, tag };
}
