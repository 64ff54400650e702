/**
 * `cairn-run/effects`: tools for common outside effects. Each has the strictest effect class that its target earns, and
 * a test that kills its process at every fault point.
 */
export { type HttpAnswer, type HttpRequest, type Verdict } from "./http-answer.ts";
export { type HttpEffectOptions, type HttpUndo, httpEffect } from "./http.ts";
export { type FormValue, type StripePaymentOptions, stripePayment } from "./payment.ts";
export { EFFECT_TABLES, type SqlEffectOptions, createEffectTables, sqlEffect } from "./sql.ts";
export {
  type PgClientLike,
  type PgPoolLike,
  type Query,
  type SqlDatabase,
  type SqliteLike,
  postgresDatabase,
  sqliteDatabase,
} from "./sql-database.ts";
export { type PutObject, type S3Like, type S3Object, type S3PutOptions, s3Put } from "./s3.ts";
export { type SqsLike, type SqsMessage, type SqsSendOptions, sqsSend } from "./sqs.ts";
export { type MailEffectOptions, type MailName, mailEffect, mailName } from "./mail.ts";
export {
  type IdentifiedMail,
  type MailMessage,
  type MailSender,
  type SentMail,
  type SesLike,
  type SmtpTransportLike,
  sesSender,
  smtpSender,
} from "./mail-senders.ts";
export { type RequestContext, type ToolSettings, type UndoRequestContext } from "./settings.ts";
export { StaleEpoch } from "./stale-epoch.ts";
