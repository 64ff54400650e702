/** Size limits for everything that is stored or sent: bytes, characters and counts. Every limit has a name. */
export const SIZES = {
  tenantCharactersMax: 24,
  toolCharactersMax: 64,
  toolsMax: 128,
  /** A business key that an agent gives a call: printable ASCII without spaces, because it travels in headers. */
  businessKeyCharactersMax: 128,
  /** The state without the sealed segments of its transcript (docs/protocol.md: "the persistence boundary"). */
  stateBytesMax: 128 * 1024,
  /** This many neighbouring segments of one level are merged into one segment of the next level. */
  segmentFanIn: 8,
  /** The commits of this many snapshots are sealed in one object, so that reading a long history takes few reads. */
  snapshotsPerSeal: 64,
  /** A larger value is stored as a blob and shown by its head and tail (about 4,000 tokens). */
  inlineBytesMax: 16 * 1024,
  previewCharacters: 1_000,
  /** What one call of `cairn_read` returns at most: characters, lines, and places with what is around them. */
  readCharactersMax: 12_000,
  readLinesMax: 1_000,
  searchCharactersMax: 100,
  searchMatchesMax: 20,
  searchContextCharacters: 100,
  /** What the fields of an answer beside its text or places take. */
  answerSpareBytes: 256,
  /** How many characters of a result a model reads to summarise it, and how many the summary has. */
  summarisedCharactersMax: 120_000,
  resultSummaryCharactersMax: 4_000,
  /** A larger task or result is stored as a blob, outside the state. */
  stateValueBytesMax: 4 * 1024,
  blobBytesMax: 8 * 1024 * 1024,
  messageBytesMax: 64 * 1024,
  /** Texts that the state holds while a model job is out. More wait in the inbox. */
  heldBytesMax: 32 * 1024,
  /** Providers take images of 5 MB, and requests of 20 to 32 MB with everything in them. */
  fileBytesMax: 8 * 1024 * 1024,
  /** The files of one task, one message, one result or one reply. */
  filesMax: 8,
  filesBytesMax: 16 * 1024 * 1024,
  /** All files of a run together. */
  runFilesBytesMax: 256 * 1024 * 1024,
  /** The files that one request shows to a model, the newest first; it reads of older ones by name. */
  requestFilesBytesMax: 12 * 1024 * 1024,
  fileNameCharactersMax: 120,
  mediaTypeCharactersMax: 100,
  /**
   * The body of an HTTP request or response. A Lambda payload has at most 6 MB, and the body is a JSON string in it,
   * which can take twice the bytes of the body.
   */
  httpBodyBytesMax: 2_500 * 1024,
  /** Nesting depth of a value: codecs and schemas recurse once per level. */
  jsonDepthMax: 100,
  /** How many problems of one input are reported, each with its path. */
  issuesMax: 32,
  /** The sender's name and the ID of a message. */
  nameCharactersMax: 64,
  /** What lists show of a run, in its row: its title and the key of its start together, and what the key always has. */
  titleBytesMax: 60,
  keyShownBytesMax: 24,
  /** A larger reply is refused, and the model gets a message that says so. */
  replyBytesMax: 1024 * 1024,
  /** Each open call takes space in the state. */
  callsPerReplyMax: 16,
  errorCharactersMax: 2_000,
  /** What fits as an answer, as JSON Schema: each wait keeps it in the state. */
  waitSchemaBytesMax: 2 * 1024,
  /** An answer or event that is larger is stored as a blob, outside the state. */
  inputInlineBytesMax: 1024,
  /** The reason that an operator gives for an action, in the audit log. */
  whyCharactersMax: 500,
  /** The reasons of all open gates together. */
  reasonsCharactersMax: 2_000,
  /** Messages that one commit absorbs; later commits absorb the rest. */
  absorbMax: 32,
  /** The most that one decision may add to a limit: a million dollars, in micro-dollars. */
  grantMax: 1_000_000_000_000,
  /** The most recent messages that a compaction keeps unchanged, at most. */
  keptMessages: 12,
  /** A write with an ambiguous outcome is sent again at most this often. */
  rewritesMax: 4,
  /** Total uncompressed bytes of the blobs in an archive: one invocation must be able to write the archive. */
  archiveBlobBytesMax: 64 * 1024 * 1024,
  archiveBlobsMax: 1_000,
  archiveFilesBytesMax: 64 * 1024 * 1024,
} as const;
