import { z } from "zod";
import { selectorSchema } from "./selector.ts";
import { countOf } from "../values/share.ts";
import { tagKey } from "./tags.ts";

const MAX_WAVES = 20;
/** Assets that one wave names. */
const MAX_NAMED_ASSETS = 100;
const MAX_SOAK_S = 30 * 24 * 3600;
const MAX_WINDOWS = 20;

const DEFAULT_SOAK_S = 60;
const DAY_S = 24 * 3600;

const PERCENT = /^(?:100|[1-9][0-9]?)%$/;

/** A number of assets, or a share of them. */
const share = z
  .union([z.int().min(1), z.string().regex(PERCENT, "must be a number of assets, or '1%' to '100%'")])
  .meta({ examples: ["10%"] });
const soak = z
  .int()
  .min(0)
  .max(MAX_SOAK_S)
  .meta({ description: "How long every app has to stay up on an asset before it counts as a success, in seconds." });
const advance = z
  .enum(["auto", "manual"])
  .meta({ description: "Whether the next wave begins by itself once this one is done, or when a person lets it." });

const wave = z
  .strictObject({
    limit: share
      .meta({
        description:
          "Number of assets in this wave and those before it, or their share of the members when the rollout is planned, rounded up. " +
          "May be left out with `by` (one asset of each value) and with `assets` (no others).",
      })
      .exactOptional(),
    selector: selectorSchema.exactOptional().meta({ description: "Only members that it matches are in the wave." }),
    by: tagKey.exactOptional().meta({
      description:
        "A tag, such as `site`: the wave takes one asset of each value before a second one of any. Assets without the tag come last.",
    }),
    assets: z
      .array(z.string().regex(/^[\x21-\x7e]{1,128}$/, "must be 1 to 128 visible ASCII characters"))
      .min(1)
      .max(MAX_NAMED_ASSETS)
      .exactOptional()
      .meta({
        description:
          "Members that are in this wave whatever their state: serial numbers, UUIDs, or identifiers of SIMs.",
        examples: [["GW-000123"]],
      }),
    soak_s: soak.default(DEFAULT_SOAK_S),
    advance: advance.default("auto"),
  })
  .meta({ id: "RolloutWaveStrategy" });

const DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
export type Day = (typeof DAYS)[number];

const timeOfDay = z
  .string()
  .regex(/^(?:[01][0-9]|2[0-3]):[0-5][0-9]$/, "must be a time of day such as '02:30'")
  .meta({ examples: ["02:30"] });

/** The zone of the device itself. */
export const DEVICE_ZONE = "device";

const timeZone = z
  .string()
  .max(64)
  .refine((zone) => zone === DEVICE_ZONE || isTimeZone(zone), "must be 'device' or an IANA time zone")
  .default(DEVICE_ZONE)
  .meta({
    description: "Zone of the times: `device`, that of the device itself, or a name such as `Europe/Berlin`.",
    examples: [DEVICE_ZONE],
  });

const window = z
  .strictObject({
    days: z
      .array(z.enum(DAYS))
      .min(1)
      .max(DAYS.length)
      .default([...DAYS])
      .meta({ description: "Days on which it begins; all by default." }),
    from: timeOfDay.meta({ description: "When it begins." }),
    to: timeOfDay.meta({
      description: "When it ends: on the next day if that is not later. The minute itself is outside.",
    }),
    zone: timeZone,
  })
  .meta({ id: "RolloutWindow" });
export type RolloutWindow = z.output<typeof window>;

const windows = z.array(window).max(MAX_WINDOWS);

const stopRule = z
  .strictObject({
    failed: share.default("10%").meta({
      description:
        "Number of failed assets at which it stops at once, or their share of all attempted ones, with those under way. Lost " +
        "assets count as failed; refused and deferred ones do not count at all.",
    }),
    min_attempted: z.int().min(1).max(1_000_000).default(5).meta({
      description:
        "With a share: not before so many assets were attempted and have an outcome, or all of the wave under way have.",
    }),
  })
  .meta({ id: "RolloutStopRule" });
export type StopRule = z.output<typeof stopRule>;

const fields = {
  waves: z
    .array(wave)
    .max(MAX_WAVES)
    .superRefine((waves, context) => {
      const named = new Set<string>();
      for (const [index, { limit, by, assets }] of waves.entries()) {
        if (limit === undefined && by === undefined && assets === undefined)
          context.addIssue({ code: "custom", path: [index], message: "must have `limit`, `by` or `assets`" });
        for (const [at, asset] of (assets ?? []).entries()) {
          if (named.has(asset))
            context.addIssue({ code: "custom", path: [index, "assets", at], message: "appears twice" });
          named.add(asset);
        }
        if (limit === undefined) continue;
        // A number and a percentage compare only once the members are known.
        const before = waves.slice(0, index).findLast((other) => typeof other.limit === typeof limit)?.limit;
        if (before === undefined || countOf(limit, 100) >= countOf(before, 100)) continue;
        context.addIssue({
          code: "custom",
          path: [index, "limit"],
          message: `must not be lower than ${before}, that of an earlier wave: limits are cumulative`,
        });
      }
    })
    .meta({ description: "The waves before the last one, which has all other members." }),
  soak_s: soak.meta({ description: "As `soak_s` of a wave, for the last one." }),
  max_parallel: z
    .int()
    .min(1)
    .max(5_000)
    .meta({ description: "Maximum number of assets with a deployment under way at a time." }),
  stop_when: stopRule.meta({ description: "When the rollout stops by itself." }),
  on_stop: z
    .enum(["pause", "rollback"])
    .meta({ description: "What happens then: it pauses, or goes back on every asset that was attempted." }),
  attempts: z.int().min(1).max(10).meta({ description: "Maximum number of deployments on one asset." }),
  offline_after_s: z
    .int()
    .min(60)
    .max(365 * DAY_S)
    .meta({
      description: "An asset that is away for longer is deferred: nothing waits for it, and it is served on return.",
    }),
  lost_after_s: z
    .int()
    .min(60)
    .max(30 * DAY_S)
    .meta({ description: "An asset that vanishes for longer while it deploys is lost, which counts as a failure." }),
  windows: windows.meta({
    description: "When a deployment may begin on an asset; empty: at any time.",
  }),
  download_windows: windows.meta({
    description:
      "When an asset may download; empty: at any time. The deployment begins only where both kinds of windows are open, unless the " +
      "images are there already.",
  }),
  requires_approval: z
    .boolean()
    .meta({ description: "Whether another person has to approve a rollout before it starts." }),
  done_at: share.meta({
    description:
      "Number of assets, or their share, that must have succeeded for the rollout to end as succeeded. It ends then once every " +
      "other one had its turn: what is under way is awaited, what waits is left to the fleet's upkeep.",
  }),
  refused: z.enum(["fail", "allow"]).meta({
    description:
      "What assets mean that refuse the revision, by the device's policy, disk or budget: `fail`: the rollout ends as failed in the " +
      "end; `allow`: it succeeds, and says how many.",
  }),
};

const maxDownloadBytes = z
  .int()
  .min(0)
  .meta({ description: "Maximum compressed bytes that one asset may download; more is refused." });

/** How a fleet brings revisions to its members. */
export const rolloutStrategySchema = z
  .strictObject({
    waves: fields.waves.default([]),
    soak_s: fields.soak_s.default(DEFAULT_SOAK_S),
    max_parallel: fields.max_parallel.default(50),
    stop_when: stopRule.prefault({}).meta({ description: "When the rollout stops by itself." }),
    on_stop: fields.on_stop.default("pause"),
    attempts: fields.attempts.default(2),
    offline_after_s: fields.offline_after_s.default(3 * DAY_S),
    lost_after_s: fields.lost_after_s.default(1_800),
    max_download_bytes: maxDownloadBytes.exactOptional(),
    windows: fields.windows.default([]),
    download_windows: fields.download_windows.default([]),
    requires_approval: fields.requires_approval.default(false),
    done_at: fields.done_at.default("100%"),
    refused: fields.refused.default("fail"),
  })
  .meta({
    id: "RolloutStrategy",
    examples: [
      {
        waves: [
          { limit: 5, by: "site", soak_s: 600, advance: "manual" },
          { limit: "20%", soak_s: 600, advance: "auto" },
        ],
        stop_when: { failed: "5%", min_attempted: 5 },
        on_stop: "rollback",
        soak_s: 60,
        max_parallel: 50,
        attempts: 2,
        offline_after_s: 259_200,
        lost_after_s: 1_800,
        download_windows: [],
        requires_approval: false,
        done_at: "98%",
        refused: "fail",
        windows: [{ days: ["mon", "tue", "wed", "thu"], from: "02:00", to: "05:00", zone: DEVICE_ZONE }],
      },
    ],
  });
export type RolloutStrategy = z.output<typeof rolloutStrategySchema>;

/** Changes of a strategy: fields that are not named stay. `null` removes the bound of downloads. */
export const rolloutStrategyUpdateSchema = z
  .strictObject({ ...fields, max_download_bytes: maxDownloadBytes.nullable() })
  .partial()
  .meta({ id: "RolloutStrategyUpdate" });
export type RolloutStrategyUpdate = z.output<typeof rolloutStrategyUpdateSchema>;

/** Returns the strategy with the changes. */
export function updateStrategy(strategy: RolloutStrategy, update: RolloutStrategyUpdate): RolloutStrategy {
  const { max_download_bytes: bound, ...rest } = update;
  const { max_download_bytes: before, ...kept } = strategy;
  const changed = { ...kept, ...definedOf(rest) };
  const next = bound === undefined ? before : (bound ?? undefined);
  return next === undefined ? changed : { ...changed, max_download_bytes: next };
}

/** Number of waves including the last one, which is not in the list. */
export function waveCount(strategy: Pick<RolloutStrategy, "waves">): number {
  return strategy.waves.length + 1;
}

/** Returns how long apps have to stay up in the wave with this index, in milliseconds. */
export function soakMsOf(strategy: Pick<RolloutStrategy, "waves" | "soak_s">, waveIndex: number): number {
  return 1000 * (strategy.waves[waveIndex]?.soak_s ?? strategy.soak_s);
}

/** Drops fields that are `undefined`: they change nothing. */
function definedOf<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>;
  };
}

function isTimeZone(name: string): boolean {
  // Names only: offsets such as +02:00 know no daylight saving time.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
