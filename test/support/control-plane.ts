import { join } from "node:path";
import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { createLogger, type Logger } from "../../src/lib/logger.ts";
import type { ProtocolVersions } from "../../src/protocol/version.ts";
import type { RequestTimes } from "../../src/control-plane/api/build-server.ts";
import type { Bus } from "../../src/control-plane/bus/bus.ts";
import { InProcessBus } from "../../src/control-plane/bus/in-process-bus.ts";
import { type ConfigInput, configSchema } from "../../src/control-plane/config/config.ts";
import type { MetricsListener } from "../../src/control-plane/metrics/listener.ts";
import { Metrics } from "../../src/control-plane/metrics/metrics.ts";
import { createId, createSecret, hashSecret } from "../../src/control-plane/accounts/secrets.ts";
import { type RunningServer, startServer } from "../../src/control-plane/server.ts";
import type { Asset } from "../../src/control-plane/core/asset.ts";
import type { PasswordAlgorithm } from "../../src/control-plane/core/people/password-hash.ts";
import type { UserSession } from "../../src/control-plane/core/people/session.ts";
import type { User } from "../../src/control-plane/core/people/user.ts";
import type { Permission } from "../../src/control-plane/core/permission.ts";
import { type ImageResolver, PinnedImages } from "../../src/control-plane/images/image-resolver.ts";
import { AesSealer } from "../../src/control-plane/sealing/aes-sealer.ts";
import type { SimOperator } from "../../src/control-plane/sim-operator/sim-operator.ts";
import { type SimOperators, soleOperator } from "../../src/control-plane/sim-operator/sim-operators.ts";
import { StoredSimOperator } from "../../src/control-plane/sim-operator/stored-sim-operator.ts";
import type { ApiKey } from "../../src/control-plane/store/accounts.ts";
import type { Store } from "../../src/control-plane/store/store.ts";
import { checkResponses, type ResponseCheck } from "./openapi/check-responses.ts";
import { someSealingKey } from "./control-plane/sealing-key.ts";
import { QUICK_HASH, someAudit, someSession, someUser } from "./control-plane/people.ts";
import { openSqliteStore } from "./control-plane/sqlite-store.ts";
import { memoryDir } from "./temp-dir.ts";

export interface ControlPlaneOptions {
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly config?: ConfigInput;
  /** Default: one of its own. */
  readonly bus?: Bus;
  /** Opens the store. Default: SQLite in the data directory. */
  readonly openStore?: () => Promise<Store>;
  /** What the server uses in place of its store, such as one that fails. Default: the store itself. */
  readonly decorateStore?: (store: Store) => Store;
  /** Default: images have their digests. */
  readonly images?: ImageResolver;
  /** Default: `StoredSimOperator`. */
  readonly simOperator?: (store: Store) => SimOperator;
  /** Default: `simOperator` for all. */
  readonly simOperators?: SimOperators;
  /** Default: a quick one. */
  readonly passwordAlgorithm?: PasswordAlgorithm;
  readonly requestTimes?: RequestTimes;
  readonly protocols?: ProtocolVersions;
}

/** An edge-control in this process with its own data directory, listening on a free loopback port. */
export interface ControlPlane extends AsyncDisposable {
  /** Such as `http://127.0.0.1:40123`. */
  readonly url: string;
  /** Where agents connect: `ws://127.0.0.1:40123/v1/agent`. */
  readonly agentUrl: string;
  /** With `metrics_listen`: where Prometheus scrapes it. */
  readonly metricsUrl: string;
  /** The server's own store, not decorated. */
  readonly store: Store;
  /** The database file, for a second process to open. */
  readonly databasePath: string;
  readonly server: RunningServer;
  /** A new account with a key. */
  account(permissions?: readonly Permission[]): Promise<TestAccount>;
  /** Another key of an account. */
  key(account: TestAccount, permissions: readonly Permission[], fields?: Partial<ApiKey>): Promise<TestAccount>;
  /** A new user of the account, an admin unless said otherwise, who is signed in. */
  session(
    account: Pick<TestAccount, "accountId">,
    fields?: Partial<User>,
    session?: Partial<UserSession>,
  ): Promise<TestSession>;
  /** A new asset of the account, without SIMs unless given. */
  asset(account: TestAccount, fields?: Partial<Asset>): Promise<TestAsset>;
  /** Stops the server gracefully and starts a new one on the same data, on another port. */
  restart(): Promise<void>;
  /**
   * Throws the server away and starts a new one on the same data, on another port. It is for whoever decorates the store to let
   * nothing of the earlier one reach it.
   */
  replace(): Promise<void>;
}

export interface TestAccount {
  readonly accountId: string;
  readonly keyId: string;
  readonly apiKey: string;
}

export interface TestSession {
  readonly user: User;
  readonly sessionId: string;
  readonly hash: Uint8Array;
  /** The header `Cookie` of a browser, over plain HTTP on loopback. */
  readonly cookie: string;
}

export interface TestAsset {
  readonly asset: Asset;
  readonly uuid: string;
  readonly deviceToken: string;
}

interface Running {
  readonly store: Store;
  readonly server: RunningServer;
  readonly listener: MetricsListener | undefined;
  readonly check: ResponseCheck;
}

/**
 * Starts a control plane. Disposing it stops it and removes its data; that throws when one of its responses did not fit
 * the OpenAPI document.
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const directory = await memoryDir();
  const databasePath = join(directory.path, "edge-control.sqlite");
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? (await createLogger({ name: "edge-control", level: "fatal" }));
  const sealer = new AesSealer(someSealingKey());
  const config = configSchema.parse({ rate_limit_per_minute: 1_000_000, listen: "127.0.0.1:0", ...options.config });
  const start = async (): Promise<Running> => {
    const store = (await options.openStore?.()) ?? (await openSqliteStore(databasePath));
    const used = options.decorateStore?.(store) ?? store;
    const simOperators =
      options.simOperators ?? soleOperator(options.simOperator?.(used) ?? new StoredSimOperator(used.usage));
    const bus = options.bus ?? new InProcessBus();
    const metrics = config.metrics_listen && new Metrics({ store: used, bus, clock, logger });
    const listener = config.metrics_listen && (await metrics?.listen(config.metrics_listen, logger));
    const server = await startServer({
      config,
      store: metrics?.store ?? used,
      bus,
      simOperators,
      sealer,
      images: options.images ?? new PinnedImages(),
      clock,
      logger,
      passwordAlgorithm: options.passwordAlgorithm ?? QUICK_HASH,
      requestTimes: options.requestTimes,
      protocols: options.protocols,
      ...(metrics && { metrics }),
    });
    return { store, server, listener, check: await checkResponses(`http://127.0.0.1:${server.port}`) };
  };
  const stop = async (): Promise<void> => {
    using check = running.check;
    await running.server.stop();
    await running.listener?.[Symbol.asyncDispose]();
    await running.store[Symbol.asyncDispose]();
    check.verify();
  };
  const abandoned: Running[] = [];
  let running = await start();
  return {
    get url() {
      return `http://127.0.0.1:${running.server.port}`;
    },
    get agentUrl() {
      return `ws://127.0.0.1:${running.server.port}/v1/agent`;
    },
    get metricsUrl() {
      return `http://127.0.0.1:${running.listener?.address.port}/metrics`;
    },
    get store() {
      return running.store;
    },
    databasePath,
    get server() {
      return running.server;
    },
    account: (permissions) => createAccount(running.store, clock, permissions),
    key: ({ accountId }, permissions, fields) => createKey(running.store, clock, accountId, permissions, fields),
    session: ({ accountId }, ...fields) => openSession(running.store, clock, accountId, ...fields),
    asset: (account, fields) => createAsset(running.store, clock, account, fields),
    async restart() {
      await stop();
      running = await start();
    },
    async replace() {
      abandoned.push(running);
      // What it does from now on is of no account. Its connections are closed with it.
      running.server.stop().catch(() => undefined);
      running = await start();
    },
    async [Symbol.asyncDispose]() {
      await using _directory = directory;
      await stop();
      for (const { server, listener, store, check } of abandoned) {
        await server.stop().catch(() => undefined);
        await listener?.[Symbol.asyncDispose]();
        await store[Symbol.asyncDispose]();
        check[Symbol.dispose]();
      }
    },
  };
}

export async function createAccount(
  store: Store,
  clock: Clock,
  permissions: readonly Permission[] = [],
): Promise<TestAccount> {
  const accountId = createId("acc_");
  await store.accounts.createAccount({ id: accountId, name: "test", createdAt: Math.floor(clock.now() / 1000) });
  return await createKey(store, clock, accountId, permissions);
}

async function createKey(
  store: Store,
  clock: Clock,
  accountId: string,
  permissions: readonly Permission[],
  fields: Partial<ApiKey> = {},
): Promise<TestAccount> {
  const keyId = createId("key_");
  const apiKey = createSecret("ek_");
  const createdAt = Math.floor(clock.now() / 1000);
  await store.keys.createKey(
    {
      id: keyId,
      accountId,
      name: "test",
      createdAt,
      lastUsedAt: undefined,
      revokedAt: undefined,
      permissions,
      role: "admin",
      expiresAt: undefined,
      createdBy: undefined,
      ...fields,
    },
    hashSecret(apiKey),
  );
  return { accountId, keyId, apiKey };
}

async function openSession(
  store: Store,
  clock: Clock,
  accountId: string,
  fields: Partial<User> = {},
  sessionFields: Partial<UserSession> = {},
): Promise<TestSession> {
  const at = Math.floor(clock.now() / 1000);
  const user = someUser({ id: `usr_${randomUUID()}`, email: `${randomUUID()}@example.com`, role: "admin", ...fields });
  const owned = { ...user, accountId };
  if ((await store.users.createUser(owned, undefined, someAudit("user.invited", accountId))) !== "created")
    throw new Error(`cannot create the test user ${user.email}`);
  const secret = randomUUID();
  const hash = hashSecret(secret);
  const session = someSession(owned, { id: `ses_${randomUUID()}`, createdAt: at, lastUsedAt: at, ...sessionFields });
  const opened = { session, hash, user: owned, replaces: undefined, audit: someAudit("session.opened", accountId) };
  if (!(await store.userSessions.openSession(opened))) throw new Error("cannot open the test session");
  return { user: owned, sessionId: session.id, hash, cookie: `edge_session=${secret}` };
}

export async function createAsset(
  store: Store,
  clock: Clock,
  account: TestAccount,
  fields: Partial<Asset> = {},
): Promise<TestAsset> {
  const uuid = randomUUID();
  const asset: Asset = {
    uuid,
    accountId: account.accountId,
    serialNumber: `SN-${uuid.slice(0, 8)}`,
    name: "Test gateway",
    type: "gateway",
    createdAt: Math.floor(clock.now() / 1000),
    supersim: undefined,
    prosim: undefined,
    ...fields,
  };
  const deviceToken = createSecret("ed_");
  const result = await store.assets.registerAsset(asset, hashSecret(deviceToken), undefined, true);
  if (!result.ok) throw new Error(`cannot register the test asset: ${result.taken} is taken`);
  return { asset, uuid: asset.uuid, deviceToken };
}
