import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { AlertSettings } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { conditionTitle } from "../../parts/alert-words.ts";
import { Note } from "../../parts/note.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import classes from "./alerts.module.css";

type Shown = Pick<AlertSettings, "routes" | "channel_states">;

/** What the account says about alerts. Only admins may see it. */
function useAlertSettings(): UseQueryResult<Shown> {
  const maySee = usePermission("settings.manage");
  return useQuery({
    queryKey: [...KEYS.alertSettings, "shown"],
    queryFn: ({ signal }) => call("GET /v1/alert-settings", { signal }),
    enabled: maySee,
  });
}

/** Says that messages reach no person, to those who can change that. */
export function NoPersonIsTold(): ReactNode {
  const { data } = useAlertSettings();
  if (!data || Object.keys(data.routes).length > 0) return null;
  return (
    <Note kind="warn" title="No person is notified." isAnnounced={false}>
      Alerts are only listed here: the account has no route to a channel, such as mail or chat.
    </Note>
  );
}

/** Says who is told what. */
export function WhoIsTold(): ReactNode {
  const maySee = usePermission("settings.manage");
  const { data } = useAlertSettings();
  if (!maySee) return "Admins of the account decide who is notified.";
  if (!data) return null;
  const routes = Object.entries(data.routes);
  if (routes.length === 0)
    return "No person would be notified: the account has no route to a channel, such as mail or chat.";
  return (
    <>
      Notified are:
      <ul className={classes.told}>
        {routes.map(([name, route]) => (
          <li key={name}>
            {route.channels.map((channel, index) => (
              <span key={channel}>
                {index > 0 && ", "}
                <strong>{channel}</strong> (<SafeText text={data.channel_states[channel]?.address ?? "–"} max={80} />)
              </span>
            ))}
            {": "}
            {describeRoute(route)}
          </li>
        ))}
      </ul>
    </>
  );
}

/** What a route tells of, in words: `critical alerts of assets with site=north`. */
function describeRoute({
  conditions,
  severities,
  selector,
}: Pick<Shown["routes"][string], "conditions" | "severities" | "selector">): string {
  const what = conditions === undefined ? "alerts" : conditions.map(conditionTitle).join(", ");
  const which = severities === undefined ? what : `${what} (${severities.join(", ")})`;
  return selector === "*"
    ? conditions === undefined && severities === undefined
      ? "everything"
      : which
    : `${which} of assets with ${selector}`;
}
