import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { MAX_STREAMS_PER_DEPLOYMENT, STALL_TIMEOUT_MS } from "../../src/control-plane/api/stream-limiter.ts";
import {
  BYTES_PER_EXTRA_REQUEST,
  MAX_BODY_MS_PER_SECOND,
  MAX_BURST_BODY_MS,
  MAX_BURST_REQUESTS,
  MAX_BURST_UNKNOWN,
  MAX_REQUESTS_PER_SECOND,
  MAX_UNKNOWN_PER_SECOND,
} from "../../src/control-plane/api/pacing.ts";
import { MAX_DISCARDED_BYTES } from "../../src/control-plane/api/refused-bodies.ts";
import { MAX_CONFLICTS_PER_HOUR } from "../../src/control-plane/assets/conflict-rate-limiter.ts";
import { MAX_CHANNEL_TESTS_PER_HOUR } from "../../src/control-plane/alerts/channel-test.ts";
import { SEND_TIMEOUT_MS } from "../../src/control-plane/alerts/channels/channels.ts";
import { MAX_SENDING } from "../../src/control-plane/alerts/messenger.ts";
import { CHANNEL_PATIENCE_MS, DELIVERY_LIFETIME_MS } from "../../src/control-plane/core/alerts/delivery.ts";
import { MAX_GROUPS_PER_HOUR } from "../../src/control-plane/core/alerts/grouping.ts";
import {
  DELIVERY_RETENTION_MS,
  MAX_AGENT_VERSIONS,
  MAX_MESSAGES_PER_HOUR,
  MAX_OBSERVED_CODES,
  MAX_RESOLVED_ALERTS,
  MAX_SCANNED_ALERTS,
  MAX_SILENCES,
  MAX_WAITING_MESSAGES,
} from "../../src/control-plane/store/alerts.ts";
import { MAX_OTLP_EXPORTS } from "../../src/control-plane/config/otlp-config.ts";
import { MAX_OTLP_ASSETS, OTLP_TIMEOUT_MS } from "../../src/control-plane/otlp/otlp-exporter.ts";
import { MAX_ALERT_CHANNELS, MAX_ALERT_ROUTES, MAX_ALERT_RULES } from "../../src/protocol/alerts/settings.ts";
import { MAX_ALERTS_IN_MESSAGE } from "../../src/protocol/alerts/webhook.ts";
import { CHECKS_COOKIE_S } from "../../src/control-plane/api/people/oidc.ts";
import {
  MAX_REMEMBERED_PAUSES,
  PAIR_POLICY,
  SOURCE_POLICY,
} from "../../src/control-plane/core/people/sign-in-throttle.ts";
import { MAX_HASHES_AT_ONCE, QUEUE_LIMITS } from "../../src/control-plane/accounts/password-hasher.ts";
import {
  BROWSER_RETENTION_S,
  MAX_BROWSERS_PER_USER,
  MAX_SESSIONS_PER_USER,
} from "../../src/control-plane/store/user-sessions.ts";
import { MAX_LOGIN_REQUESTS, MAX_LOGIN_REQUESTS_PER_SOURCE } from "../../src/control-plane/store/login-requests.ts";
import { MAX_USERS_PER_ACCOUNT } from "../../src/control-plane/core/people/user.ts";
import {
  IDEMPOTENCY_KEPT_MS,
  MAX_IDEMPOTENT_REQUESTS,
  MAX_IDEMPOTENT_RESPONSE_BYTES,
} from "../../src/control-plane/store/idempotency.ts";
import {
  MAX_ENDED_KEYS_PER_ACCOUNT,
  MAX_KEYS_PER_ACCOUNT,
  MAX_LOGIN_KEYS_PER_USER,
} from "../../src/control-plane/core/people/key-limits.ts";
import { MAX_GROUPS_PER_ACCOUNT } from "../../src/control-plane/cli/network-group.ts";
import { MAX_WAKES, MAX_WAKES_PER_TOPIC } from "../../src/control-plane/bus/flood-guard.ts";
import { configSchema } from "../../src/control-plane/config/config.ts";
import { CANCEL_TIMEOUT_MS } from "../../src/control-plane/core/deadlines.ts";
import { MAX_LEDGER_BYTES } from "../../src/control-plane/core/device-ledger.ts";
import {
  MAX_DETAILS_BYTES,
  MAX_EVENT_BYTES,
  MAX_EVENT_BYTES_OVER_QUOTA,
  MAX_EVENTS,
} from "../../src/control-plane/core/event-log.ts";
import { MAX_DEPLOYMENT_DURATION_MS } from "../../src/control-plane/core/transitions.ts";
import { MAX_METRICS_CONNECTIONS } from "../../src/control-plane/metrics/listener.ts";
import { MAX_RUNNING_PER_ASSET } from "../../src/control-plane/deployments/deployments.ts";
import {
  MAX_BURST_CONNECTIONS,
  MAX_BURST_INVALID_TOKENS,
  MAX_CONNECTIONS_PER_SECOND,
  MAX_INVALID_TOKENS_PER_SECOND,
} from "../../src/control-plane/devices/hub/device-admission.ts";
import {
  BYTES_PER_EXTRA_EVENT,
  BYTES_PER_EXTRA_REPORT,
  FRAME_FACTOR,
  MAX_BURST_MS,
  MAX_MS_PER_SECOND,
  MAX_BURST_EVENTS,
  MAX_EVENTS_PER_SECOND,
  MAX_BURST_BYTES,
  MAX_BYTES_PER_SECOND,
  MIN_CHARGED_BYTES,
  MAX_BURST_REPORTS,
  MAX_REPORTS_PER_SECOND,
} from "../../src/control-plane/devices/hub/frame-rate-limiter.ts";
import { MAX_WAITING_BYTES as MAX_INBOX_BYTES } from "../../src/control-plane/devices/hub/message-queue.ts";
import { MAX_CONNECTIONS_PER_ASSET } from "../../src/control-plane/devices/hub/connection-registry.ts";
import { MAX_QUERIES_PER_DEVICE } from "../../src/control-plane/devices/gateway/local-gateway.ts";
import { MAX_QUERIES_PER_ACCOUNT } from "../../src/control-plane/devices/queries/device-queries.ts";
import { MAX_BUFFERED_BYTES as MAX_LOG_BYTES } from "../../src/control-plane/devices/queries/log-feed.ts";
import {
  MAX_TRANSFERS,
  MAX_TRANSFERS_PER_DEVICE,
  RELEASE_REQUESTS,
} from "../../src/control-plane/api/releases/serve-releases.ts";
import { MAX_AGENT_RELEASES, PIECE_BYTES } from "../../src/control-plane/store/agent-releases.ts";
import { MAX_BATCH_BYTES, MAX_PAGE_BYTES } from "../../src/control-plane/store/deployments.ts";
import { MAX_STREAMS_PER_CLIENT } from "../../src/control-plane/devices/streams/client-connection.ts";
import {
  MAX_STREAM_CONNECTIONS_PER_ACCOUNT,
  MAX_STREAMS_PER_ACCOUNT,
} from "../../src/control-plane/devices/streams/stream-server.ts";
import { MAX_UPLOADS, MAX_UPLOADS_BYTES, UPLOAD_KEPT_S } from "../../src/control-plane/store/uploads.ts";
import { MAX_UPLOAD_BYTES, UPLOAD_PIECE_BYTES } from "../../src/protocol/apps/uploads.ts";
import {
  MAX_APP_REQUEST_BYTES,
  MAX_FRAME_BYTES,
  MAX_MESSAGE_LENGTH,
  MAX_REQUEST_BYTES,
} from "../../src/protocol/limits.ts";
import { JSON_LIMITS, MAX_NESTING_DEPTH } from "../../src/protocol/values/bounded-json.ts";
import { MAX_STREAM_CREDIT, MAX_STREAMS_PER_CONNECTION } from "../../src/protocol/link/streams.ts";
import { MAX_BULK_MS } from "../../src/control-plane/api/assets/bulk-rows.ts";
import { MAX_BULK_ROWS } from "../../src/protocol/assets/bulk.ts";
import { MAX_PAGE_ENTRIES, MAX_PAGE_MS } from "../../src/control-plane/api/usage/list-usages.ts";
import { CONNECTIVITY_KEPT_DAYS, MAX_INTERVALS_PER_DAY } from "../../src/control-plane/store/connectivity.ts";
import { MAX_METRIC_ASSETS } from "../../src/control-plane/api/history/device-metrics.ts";
import { MAX_HEALTH_AGE_S, MAX_HEALTH_AHEAD_S, OLD_HEALTH_ROW_S } from "../../src/control-plane/core/health-days.ts";
import { HEALTH_KEPT_DAYS, QUARTER_ROWS_KEPT_DAYS } from "../../src/control-plane/store/health.ts";
import { HEALTH_REPORT_ROW_S } from "../../src/protocol/link/health-rows.ts";
import { MAX_SCANNED_ASSETS } from "../../src/control-plane/store/assets.ts";
import { MAX_SCANNED } from "../../src/control-plane/store/deployment-lists.ts";
import { MAX_HISTORY_DAYS, MAX_SUMMARY_DAYS } from "../../src/protocol/assets/connectivity.ts";
import { MAX_USAGE_DAYS } from "../../src/protocol/assets/usage.ts";

const config = configSchema.parse({});
const count = (value: number): string => value.toLocaleString("en");
const kib = (bytes: number): string => `${count(bytes / 1024)} KiB`;
const mib = (bytes: number): string => `${count(bytes / 1024 / 1024)} MiB`;
const seconds = (ms: number): string => `${count(ms / 1000)} s`;
const days = (ms: number): string => `${count(ms / 24 / 3_600_000)} days`;

/** What the documentation has to say in the column `bound`, by the first column. */
const BOUNDS: Readonly<Record<string, string>> = {
  "wake-ups from other instances: of one topic, of all": `${MAX_WAKES_PER_TOPIC}, ${count(MAX_WAKES)} a second`,
  "requests of one key": `\`rate_limit_per_minute\`, ${config.rate_limit_per_minute}`,
  "requests of one account at once": `${MAX_BURST_REQUESTS}, then ${MAX_REQUESTS_PER_SECOND} a second, each ${kib(BYTES_PER_EXTRA_REQUEST)} of a body counting as one, up to the most that it may have`,
  "requests of one address without a known credential": `${MAX_BURST_UNKNOWN}, then ${MAX_UNKNOWN_PER_SECOND} a second, counted alike`,
  "processor time for the bodies of one account": `${MAX_BURST_BODY_MS} ms, then ${MAX_BODY_MS_PER_SECOND} ms a second`,
  "rest of a body that was refused before it was read": kib(MAX_DISCARDED_BYTES),
  "attempts to enrol from one address": `\`enrolment_rate_limit_per_minute\`, ${config.enrolment_rate_limit_per_minute}`,
  "request body": kib(MAX_REQUEST_BYTES),
  "request body with files of an app": `${kib(MAX_APP_REQUEST_BYTES)}, ${kib(MAX_REQUEST_BYTES)} without the files`,
  "values in a request body": `${count(JSON_LIMITS.request.maxValues)}, nested ${MAX_NESTING_DEPTH} deep`,
  "specifications behind one page of deployments": mib(MAX_PAGE_BYTES),
  "assets looked at for one page of a filtered list": count(MAX_SCANNED_ASSETS),
  "deployments looked at for one page of the account's": count(MAX_SCANNED),
  "alerts looked at for one page of a list": count(MAX_SCANNED_ALERTS),
  "rows of one bulk request, time for them": `${count(MAX_BULK_ROWS)}, ${seconds(MAX_BULK_MS)}`,
  "one page of the usage of all SIMs": `${seconds(MAX_PAGE_MS)}, or ${count(MAX_PAGE_ENTRIES)} entries`,
  "usage asked for at once": `${MAX_USAGE_DAYS} days`,
  "history asked for at once: of one asset, of many": `${MAX_HISTORY_DAYS} days, ${MAX_SUMMARY_DAYS} days`,
  "open event streams of one account": `\`max_streams_per_account\`, ${count(config.max_streams_per_account)}`,
  "open event streams of one deployment": count(MAX_STREAMS_PER_DEPLOYMENT),
  "connections to the metrics' listener": count(MAX_METRICS_CONNECTIONS),
  "read of a stream at once": `${kib(MAX_BATCH_BYTES)}, or one event`,
  "a stream whose client takes nothing": seconds(STALL_TIMEOUT_MS),
  "a response whose client takes nothing of it": `${STALL_TIMEOUT_MS / 2_000} to ${seconds(STALL_TIMEOUT_MS)}`,
  "questions to one device at once": count(MAX_QUERIES_PER_DEVICE),
  "questions of one account at once": count(MAX_QUERIES_PER_ACCOUNT),
  "lines of a log that wait for the client": kib(MAX_LOG_BYTES),
  "connections of one account to apps": count(MAX_STREAM_CONNECTIONS_PER_ACCOUNT),
  "streams to apps: one connection, one account, one device": `${MAX_STREAMS_PER_CLIENT}, ${MAX_STREAMS_PER_ACCOUNT}, ${MAX_STREAMS_PER_CONNECTION}`,
  "data of one stream that its reader has not taken": kib(MAX_STREAM_CREDIT),
  "requests of one device for releases of the agent": `burst ${RELEASE_REQUESTS.burst}, ${RELEASE_REQUESTS.perSecond} per second`,
  "transfers of releases: of one device, of one instance": `${MAX_TRANSFERS_PER_DEVICE}, ${MAX_TRANSFERS}`,
  "a transfer of a release whose device takes nothing": seconds(STALL_TIMEOUT_MS),
  "one frame from a device": `${mib(MAX_FRAME_BYTES)}, ${count(JSON_LIMITS.frame.maxValues)} values, nested ${MAX_NESTING_DEPTH} deep`,
  "frames that wait for an earlier one": `64, or ${mib(MAX_INBOX_BYTES)}`,
  "open connections of one device": count(MAX_CONNECTIONS_PER_ASSET),
  "frames on a connection that is being closed": mib(MAX_INBOX_BYTES),
  "bytes from one device": `${mib(MAX_BYTES_PER_SECOND)}/s of data of streams, ${mib(MAX_BURST_BYTES)} at once; all else counts ${FRAME_FACTOR} times, a frame or ping at least ${MIN_CHARGED_BYTES}`,
  "processor time for the frames of one device": `${MAX_BURST_MS} ms at once, ${MAX_MS_PER_SECOND} ms/s`,
  "connections that one device opens": `${MAX_CONNECTIONS_PER_SECOND}/s, ${MAX_BURST_CONNECTIONS} at once`,
  "the same without a valid token from one address": `${MAX_INVALID_TOKENS_PER_SECOND}/s, ${MAX_BURST_INVALID_TOKENS} at once`,
  "frames about deployments from one device": `${MAX_EVENTS_PER_SECOND}/s, ${MAX_BURST_EVENTS} at once, each ${kib(BYTES_PER_EXTRA_EVENT)} counting as one`,
  "reports from one device": `${MAX_REPORTS_PER_SECOND}/s, ${MAX_BURST_REPORTS} at once, each ${kib(BYTES_PER_EXTRA_REPORT)} counting as one`,
  "report of one device": mib(MAX_FRAME_BYTES),
  "data usage kept of one device": `${mib(MAX_LEDGER_BYTES)}, 400 days, 500 deployments`,
  "times when one device was connected": `${MAX_INTERVALS_PER_DAY} a day, for ${CONNECTIVITY_KEPT_DAYS} days`,
  "assets of one response with metrics of devices": count(MAX_METRIC_ASSETS),
  "assets of one request of an export by OTLP": `${MAX_OTLP_ASSETS}, ${seconds(OTLP_TIMEOUT_MS)}`,
  "accounts whose devices are exported by OTLP": count(MAX_OTLP_EXPORTS),
  "how one device was": `${86_400 / HEALTH_REPORT_ROW_S} rows a day for ${QUARTER_ROWS_KEPT_DAYS} days, ${86_400 / OLD_HEALTH_ROW_S} for ${HEALTH_KEPT_DAYS} days; of the last ${MAX_HEALTH_AGE_S / 3_600} h, at most ${MAX_HEALTH_AHEAD_S} s ahead`,
  "acknowledgement of a deployment by the device": `\`ack_timeout_s\`, ${config.ack_timeout_s} s`,
  "a deployment in all": `\`deployment_timeout_s\`, ${config.deployment_timeout_s / 60} min`,
  "the same with all waiting for hours or budget": days(MAX_DEPLOYMENT_DURATION_MS),
  "undoing a cancelled deployment": seconds(CANCEL_TIMEOUT_MS),
  "deployments of one device under way": count(MAX_RUNNING_PER_ASSET),
  "events of one deployment": `${count(MAX_EVENTS)}, and ${mib(MAX_EVENT_BYTES)}`,
  "the same in an account without room": kib(MAX_EVENT_BYTES_OVER_QUOTA),
  "`details` of one event": `${kib(MAX_DETAILS_BYTES)} of JSON in UTF-8`,
  "`message` of one event": `${count(MAX_MESSAGE_LENGTH)} characters`,
  "finished deployments": `\`deployment_retention_days\`, ${config.deployment_retention_days} days`,
  "deployments of one account, with their events": `\`storage_mib_per_account\`, ${count(config.storage_mib_per_account)} MiB`,
  "assets of one account": `\`max_assets_per_account\`, ${count(config.max_assets_per_account)}`,
  "identifiers refused because of another account": `${MAX_CONFLICTS_PER_HOUR} an hour`,
  "API keys of one account that are valid": count(MAX_KEYS_PER_ACCOUNT),
  "API keys of one user's log-ins": count(MAX_LOGIN_KEYS_PER_USER),
  "revoked and expired API keys of one account": count(MAX_ENDED_KEYS_PER_ACCOUNT),
  "users of one account": count(MAX_USERS_PER_ACCOUNT),
  "log-ins of programs that wait for one source": count(MAX_LOGIN_REQUESTS_PER_SOURCE),
  "log-ins of programs of the last 10 minutes": count(MAX_LOGIN_REQUESTS),
  "sessions of one user": count(MAX_SESSIONS_PER_USER),
  "known browsers of one user": `${MAX_BROWSERS_PER_USER}, for ${days(BROWSER_RETENTION_S * 1000)}`,
  "failed sign-ins, one email and network address": `${PAIR_POLICY.free}, one forgotten every ${PAIR_POLICY.forgetS / 60} min`,
  "failed sign-ins from one network address": `${SOURCE_POLICY.free}, one forgotten every minute`,
  "failures that are remembered": count(MAX_REMEMBERED_PAUSES),
  "passwords that are hashed at once": count(MAX_HASHES_AT_ONCE),
  "sign-ins that wait": `${QUEUE_LIMITS.perSource} of a network address, ${QUEUE_LIMITS.total} in all`,
  "time at the identity provider": `${CHECKS_COOKIE_S / 60} min`,
  "network groups of one account's own": count(MAX_GROUPS_PER_ACCOUNT),
  "releases of the agent that devices can fetch": `${MAX_AGENT_RELEASES}, in pieces of ${kib(PIECE_BYTES)}`,
  "uploads of one account": `${MAX_UPLOADS}, and ${mib(MAX_UPLOADS_BYTES)}`,
  "one upload": `${mib(MAX_UPLOAD_BYTES)}, in pieces of ${kib(UPLOAD_PIECE_BYTES)}`,
  "an upload that nothing needs": `${UPLOAD_KEPT_S / 3600} h`,
  "rules, routes and channels of alerts": `${MAX_ALERT_RULES} of each`,
  "silences of alerts that have not ended": count(MAX_SILENCES),
  "tests of channels of one account": `${MAX_CHANNEL_TESTS_PER_HOUR} an hour, ${seconds(SEND_TIMEOUT_MS)} each`,
  "alerts of one account that are over": count(MAX_RESOLVED_ALERTS),
  "messages of a route about one condition": `${MAX_GROUPS_PER_HOUR} groups an hour`,
  "alerts that one message has": count(MAX_ALERTS_IN_MESSAGE),
  "versions of agents that alerts look at": `${MAX_AGENT_VERSIONS} of each account`,
  "enrolment codes that alerts tell of": `${count(MAX_OBSERVED_CODES)} of each account`,
  "messages of alerts to one channel": `${MAX_MESSAGES_PER_HOUR} an hour, and ${count(MAX_WAITING_MESSAGES)} that wait`,
  "messages of alerts that one instance sends": `${MAX_SENDING} at once, one of each channel, ${seconds(SEND_TIMEOUT_MS)} each`,
  "attempts to send one message of an alert": `${DELIVERY_LIFETIME_MS / 3_600_000} h`,
  "messages of alerts that were sent": days(DELIVERY_RETENTION_MS),
  "requests of one account with an idempotency key": `${count(MAX_IDEMPOTENT_REQUESTS)}, and ${mib(MAX_IDEMPOTENT_RESPONSE_BYTES)} of their responses, for ${IDEMPOTENCY_KEPT_MS / 3_600_000} h`,
};

async function documented(): Promise<ReadonlyMap<string, string>> {
  const page = await readFile("docs/limits.md", "utf8");
  const rows = page.split("\n").filter((line) => line.startsWith("| "));
  return new Map(
    rows.map((row) => row.split("|").map((cell) => cell.trim())).map(([, what = "", bound = ""]) => [what, bound]),
  );
}

test.each(Object.entries(BOUNDS))("docs/limits.md gives the bound of the source: %s", async (what, bound) => {
  expect((await documented()).get(what)).toBe(bound);
});

test("the bounds that docs/limits.md has in one row are one bound", () => {
  expect([MAX_ALERT_ROUTES, MAX_ALERT_CHANNELS]).toEqual([MAX_ALERT_RULES, MAX_ALERT_RULES]);
  expect(days(CHANNEL_PATIENCE_MS)).toBe("3 days");
});

test("docs/api.md gives the same numbers", async () => {
  const text = (await readFile("docs/api.md", "utf8")).replaceAll(/\s+/g, " ");
  expect(text).toContain(`may have ${count(config.max_assets_per_account)} assets`);
  expect(text).toContain(`identifiers of others ${MAX_CONFLICTS_PER_HOUR} times in an hour`);
  expect(text).toContain(
    `may have ${MAX_STREAMS_PER_DEPLOYMENT} open, an account ${count(config.max_streams_per_account)}`,
  );
  expect(text).toContain(`(${config.storage_mib_per_account / 1024} GiB unless configured otherwise;`);
  expect(text).toContain(`${MAX_RUNNING_PER_ASSET} deployments of one device`);
});
