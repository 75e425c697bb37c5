/**
 * Keys of queries. A query of a page begins with one of these and adds its parameters, so that an event of the account
 * makes all of them outdated.
 */
export const KEYS = {
  session: ["session"],
  signIn: ["sign-in"],
  overview: ["overview"],
  users: ["users"],
  apiKeys: ["api-keys"],
  audit: ["audit"],
  assets: ["assets"],
  /** Everything of one asset. */
  asset: (id: string) => ["asset", id],
  /** The SIMs of all assets. */
  sims: ["sims"],
  /** The SIMs of one asset, with their allowances and usage. What its device does changes none of it. */
  simsOf: (assetId: string) => ["sims-of", assetId],
  /** Alerts of the account, those of one asset too. */
  alerts: ["alerts"],
  silences: ["silences"],
  alertSettings: ["alert-settings"],
  alertDeliveries: ["alert-deliveries"],
  enrolmentSettings: ["enrolment-settings"],
  agentSettings: ["agent-settings"],
  dataPlanSettings: ["data-plan-settings"],
  fleets: ["fleets"],
  rollout: (id: string) => ["rollout", id],
  deployments: (id: string) => ["asset", id, "deployments"],
} as const;
