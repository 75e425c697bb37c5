import { nkeys } from "@nats-io/transport-node";

type KeyPair = ReturnType<typeof nkeys.createUser>;

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A JWT as NATS signs them, with an nkey. */
function sign(issuer: KeyPair, subject: string, nats: object): string {
  const claims = {
    jti: subject,
    iat: Math.floor(Date.now() / 1000),
    iss: issuer.getPublicKey(),
    name: "test",
    sub: subject,
    nats: { ...nats, version: 2 },
  };
  const text = `${base64url({ typ: "JWT", alg: "ed25519-nkey" })}.${base64url(claims)}`;
  return `${text}.${Buffer.from(issuer.sign(Buffer.from(text))).toString("base64url")}`;
}

const seedOf = (pair: KeyPair): string => Buffer.from(pair.getSeed()).toString();

const UNLIMITED = { subs: -1, data: -1, payload: -1 };

/** Configuration of a server that trusts an operator, and the creds file of one of its users. */
export function createOperator(): { readonly config: readonly string[]; readonly creds: string } {
  const [operator, account, user] = [nkeys.createOperator(), nkeys.createAccount(), nkeys.createUser()];
  const limits = { ...UNLIMITED, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const permissions = { pub: {}, sub: {} };
  const accountJwt = sign(operator, account.getPublicKey(), {
    limits,
    default_permissions: permissions,
    type: "account",
  });
  const userJwt = sign(account, user.getPublicKey(), { ...permissions, ...UNLIMITED, type: "user" });
  const operatorJwt = sign(operator, operator.getPublicKey(), { type: "operator" });
  return {
    config: [
      `operator: "${operatorJwt}"`,
      "resolver: MEMORY",
      `resolver_preload { ${account.getPublicKey()}: "${accountJwt}" }`,
    ],
    creds: [
      "-----BEGIN NATS USER JWT-----",
      userJwt,
      "------END NATS USER JWT------",
      "",
      "-----BEGIN USER NKEY SEED-----",
      seedOf(user),
      "------END USER NKEY SEED------",
      "",
    ].join("\n"),
  };
}

/** A user that is known by its key. */
export function createKeyUser(): { readonly publicKey: string; readonly seed: string } {
  const user = nkeys.createUser();
  return { publicKey: user.getPublicKey(), seed: seedOf(user) };
}
