import type { StoredChannel } from "../../../src/control-plane/store/alerts.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import type { AlertRouteBody } from "../../../src/protocol/alerts/settings.ts";
import { someAudit } from "../control-plane/people.ts";

type Settings = Pick<Store, "alertSettings">;

/** Stores a channel beside the others, or in the place of the one with its name. */
export async function putChannel({ alertSettings }: Settings, channel: StoredChannel): Promise<void> {
  await alertSettings.change(channel.accountId, (current) => ({
    ...current,
    channels: [...current.channels.filter(({ name }) => name !== channel.name), channel],
    audit: someAudit("alert_settings.changed"),
  }));
}

/** Removes a channel. */
export async function removeChannel({ alertSettings }: Settings, accountId: string, name: string): Promise<void> {
  await alertSettings.change(accountId, (current) => ({
    ...current,
    channels: current.channels.filter((channel) => channel.name !== name),
    audit: someAudit("alert_settings.changed"),
  }));
}

/** Stores a route beside the others, or in the place of the one with its name. */
export async function putRoute(
  { alertSettings }: Settings,
  accountId: string,
  name: string,
  body: AlertRouteBody,
): Promise<void> {
  await alertSettings.change(accountId, (current) => ({
    ...current,
    routes: [...current.routes.filter((route) => route.name !== name), { name, body }],
    audit: someAudit("alert_settings.changed"),
  }));
}
