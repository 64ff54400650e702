/** Texts with a credential, as tools, models and users send them, and texts without one. */

/** The text of a probe, and the part that must be replaced. */
type Probe = readonly [what: string, text: string, secret: string];

/** Split, so that no scanner takes them for real credentials. */
const of = (...parts: readonly string[]): string => parts.join("");

const HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
const MIX = "kR7vQ2mX9pLs4TzW8bNc3HyF6gJd1VaEu5KoZtYiBqMwGxPe0rSnDhCfUjAl7O2";
const hex = (characters: number): string => HEX.repeat(4).slice(0, characters);
const mix = (characters: number): string => MIX.repeat(6).slice(0, characters);

const made = (what: string, text: (secret: string) => string, secret: string): Probe => [what, text(secret), secret];
const token = (what: string, secret: string): Probe => [what, `the answer was ${secret}, thanks`, secret];

export const PROBES: readonly Probe[] = [
  // Fields with telling names.
  made("password in JSON", (s) => JSON.stringify({ user: "ada", password: s }), "correcthorse"),
  made("password in JSON within JSON", (s) => JSON.stringify(JSON.stringify({ db: { passwd: s } })), "tr0ub4dor&3"),
  made("pwd in a query", (s) => `https://x.test/login?user=ada&pwd=${s}&lang=en`, "letmein99"),
  made("password of an environment", (s) => `export DB_PASSWORD=${s}\nexport DB_HOST=db`, "s3cr,et;p&ss"),
  made("password in YAML", (s) => `db:\n  user: ada\n  password: ${s}\n`, "opensesame"),
  made("password on the next line of YAML", (s) => `password: |\n  ${s}\n`, "opensesame1"),
  made("password in TOML", (s) => `password = '${s}'`, 'it"s-me-99'),
  made("password in XML", (s) => `<db><password>${s}</password></db>`, "hunter2hunter2"),
  made("password as a pair", (s) => `- name: DB_PASSWORD\n  value: ${s}\n`, "hunter2hunter2"),
  made("password as an option", (s) => `deploy --db-password ${s} --force`, "hunter2hunter2"),
  made("password in a sentence", (s) => `my password is ${s}, do not tell`, "hunter2!"),
  made("password of a typed constant", (s) => `const password: string = "${s}";`, "hunter2hunter2"),
  made("password on the next line of JSON", (s) => `{"password":\n  "${s}"}`, "hunter2hunter2"),
  made("password of a Dockerfile", (s) => `ENV DB_PASSWORD ${s}`, "hunter2hunter2"),
  made("password of LDAP", (s) => `bindpw=${s}`, "hunter2hunter2"),
  made("key base", (s) => `secret_key_base: ${s}`, hex(64)),
  made("password in SQL", (s) => `CREATE USER ada IDENTIFIED BY '${s}';`, "hunter2hunter2"),
  made("password in HTML", (s) => `<p>{&quot;password&quot;:&quot;${s}&quot;}</p>`, "hunter2hunter2"),
  made("password in an encoded body", (s) => `body=%7B%22password%22%3A%22${s}%22%7D`, "hunter2hunter2"),
  made("password in .netrc", (s) => `machine x.test login ada password ${s}`, "hunter2hunter2"),
  made("password of a command", (s) => `curl -u ada:${s} https://x.test`, "hunter2hunter2"),
  made("password of mysql", (s) => `$ mysql -h db -u root -p${s} app`, "hunter2hunter2"),
  made("secret of a client", (s) => JSON.stringify({ client_id: "x", client_secret: s }), mix(40)),
  made("refresh token", (s) => JSON.stringify({ refresh_token: s, expires_in: 3600 }), mix(48)),
  made("api key in a header", (s) => `X-API-Key: ${s}\r\nHost: x.test`, hex(32)),
  made("api key in YAML", (s) => `datadog:\n  api_key: ${s}`, hex(32)),
  made("api key as UUID", (s) => `HEROKU_API_KEY=${s}`, "3f2504e0-4f89-41d3-9a0c-0305e82c3301"),
  made("private key in one line", (s) => JSON.stringify({ privateKey: s }), mix(44)),
  // Headers, cookies, sessions.
  made("Authorization: Bearer", (s) => `Authorization: Bearer ${s}`, mix(32)),
  made("Authorization: Basic", (s) => `authorization: Basic ${s}`, Buffer.from("ada:lovelace").toString("base64")),
  made("Authorization of its own kind", (s) => `{"Authorization":"ApiKey ${s}"}`, mix(24)),
  made("Authorization: Digest", (s) => `Authorization: Digest username="ada", response="${s}"`, hex(32)),
  made("signed request", (s) => `Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=${s}`, hex(64)),
  made("Cookie", (s) => `GET / HTTP/1.1\r\nCookie: theme=dark; sid=${s}\r\n`, mix(24)),
  made("Set-Cookie", (s) => JSON.stringify({ "set-cookie": `SID=${s}; Path=/; HttpOnly` }), mix(26)),
  made("session id", (s) => `PHPSESSID=${s}; lang=en`, "8k2j4h5g6f7d8s9a0q1w2e3r4t"),
  made("session id of Express", (s) => `connect.sid=${s}`, of("s%3A", mix(32))),
  made("session token in JSON", (s) => JSON.stringify({ sessionToken: s }), mix(64)),
  made("headers as pairs", (s) => JSON.stringify([{ name: "Cookie", value: `sid=${s}` }]), mix(24)),
  // Connection strings.
  made("postgres", (s) => `postgres://ada:${s}@db.test:5432/app`, "p@ss/w0rd"),
  made("mysql", (s) => `mysql://root:${s}@10.0.0.1/app`, "hunter2"),
  made("mongodb+srv", (s) => `mongodb+srv://ada:${s}@c0.abc.mongodb.net/?retryWrites=true`, "hunter2"),
  made("redis without a name", (s) => `rediss://:${s}@cache.test:6379/0`, "hunter2"),
  made("amqp", (s) => `amqps://ada:${s}@mq.test/v`, "hunter2"),
  made("JDBC", (s) => `jdbc:postgresql://db/app?user=ada&password=${s}`, "hunter2hunter2"),
  made("JDBC of Oracle", (s) => `jdbc:oracle:thin:scott/${s}@//db:1521/x`, "tiger99"),
  made("SQL Server", (s) => `Server=tcp:x,1433;User ID=ada;Password=${s};Encrypt=True;`, "hunter2hunter2"),
  made("storage of Azure", (s) => `AccountName=x;AccountKey=${s};EndpointSuffix=core.windows.net`, of(mix(86), "==")),
  made("bus of Azure", (s) => `Endpoint=sb://x/;SharedAccessKeyName=root;SharedAccessKey=${s}`, of(mix(43), "=")),
  made(
    "signed address of Azure",
    (s) => `https://x.blob.core.windows.net/c/f?sv=2024&sp=r&sig=${s}`,
    of(mix(43), "%3D"),
  ),
  made("pre-signed address", (s) => `https://b.s3.amazonaws.com/k?X-Amz-Expires=9&X-Amz-Signature=${s}`, hex(64)),
  made("token in the address of git", (s) => `git clone https://${s}@git.test/x.git`, mix(40)),
  // Vendor tokens.
  token("Anthropic", of("sk-", "ant-api03-", mix(90), "AA")),
  token("OpenAI, of a project", of("sk-", "proj-", mix(40), "T3Blbk", "FJ", mix(40))),
  token("Google OAuth", of("ya29", ".a0Af_", mix(60))),
  token("Google API", of("AIza", "Sy", mix(33))),
  token("Google client", of("GOCSPX", "-", mix(28))),
  token("GitHub", of("ghp", "_", mix(36))),
  token("GitLab", of("glpat", "-", mix(20))),
  token("npm", of("npm", "_", mix(36))),
  token("PyPI", of("pypi", "-AgEIcHlwaS5vcmc", mix(60))),
  token("Docker", of("dckr", "_pat_", mix(27))),
  token("Twilio key", of("SK", hex(32))),
  made("Twilio token", (s) => `TWILIO_AUTH_TOKEN="${s}"`, hex(32)),
  token("SendGrid", of("SG", ".", mix(22), ".", mix(43))),
  token("Mailgun", of("key", "-", hex(32))),
  token("Shopify", of("shpat", "_", hex(32))),
  token("Square", of("EAAA", mix(60))),
  token("Discord", of("MTk4", mix(20), ".", mix(6), ".", mix(38))),
  token("Telegram", of("110201543", ":AA", mix(33))),
  made("Datadog", (s) => `DD-API-KEY: ${s}`, hex(32)),
  token("New Relic", of("NRAK", "-", mix(27).toUpperCase())),
  token("DigitalOcean", of("dop", "_v1_", hex(64))),
  token("Linear", of("lin", "_api_", mix(40))),
  token("Notion", of("ntn", "_", "12345678901", mix(35))),
  token("Atlassian", of("ATATT3", "xFfGF0", mix(120), "=", hex(8).toUpperCase())),
  token("Vault", of("hvs", ".", mix(95))),
  token("Databricks", of("dapi", hex(32))),
  token("Supabase", of("sbp", "_", hex(40))),
  token("Vercel", of("vcp", "_", mix(24))),
  token("Cloudflare", of("cfut", "_", mix(40), hex(8))),
  token("Azure", of("abc", "8Q", "~", mix(34))),
  token("Slack", of("xoxb", "-123456789012-123456789012-", mix(24))),
  made("Slack webhook", (s) => `https://hooks.slack.com/services/${s}`, of("T0", "AB12CD3/B0EF45GH6/", mix(24))),
  token("Stripe", of("sk", "_live_", mix(24))),
  token("JWT", of("eyJ", "hbGciOiJIUzI1NiJ9.eyJ", "zdWIiOiIxMjM0NTYifQ.", mix(43))),
  made("AWS session", (s) => `{"SessionToken": "${s}"}`, of("IQoJb3JpZ2luX2VjE", mix(300), "/+=")),
  made("AWS key", (s) => `aws_secret_access_key = ${s}`, of(mix(39), "/")),
  made(
    "key of a service account",
    (s) =>
      JSON.stringify({
        type: "service_account",
        private_key: of("-----BEGIN ", `PRIVATE KEY-----\n${s}\n-----END PRIVATE KEY-----\n`),
      }),
    mix(64),
  ),
  made(
    "key of SSH",
    (s) => of("-----BEGIN OPENSSH ", `PRIVATE KEY-----\n${s}\n-----END OPENSSH PRIVATE KEY-----`),
    mix(70),
  ),
  made(
    "key of PGP",
    (s) => of("-----BEGIN PGP ", `PRIVATE KEY BLOCK-----\n\n${s}\n-----END PGP PRIVATE KEY BLOCK-----`),
    mix(64),
  ),
  made("hash of a password", (s) => `ada:${s}:19000:0`, of("$6$", "saltsalt$", mix(86))),
];

/** As `docs/secrets.md` says. */
export const UNSEEN: readonly Probe[] = [
  made("a password of five characters", (s) => `password=${s}`, "abc12"),
  made("a password of several words", (s) => `{"password":"${s}"}`, "correct horse battery staple"),
  made("a column of a table", (s) => `name,password\nada,${s}\n`, "hunter2hunter2"),
  made("a password without a name before it", (s) => `use ${s} for it`, "hunter2hunter2"),
  made("a key that has no shape and no name", (s) => `use ${s} for it`, hex(32)),
];
