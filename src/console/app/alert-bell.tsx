import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import { call } from "../api/client.ts";
import { KEYS } from "../api/keys.ts";
import { usePermission } from "../api/session.ts";
import { Icon } from "../parts/icon.tsx";
import classes from "./alert-bell.module.css";

interface Counts {
  readonly firing: number;
  readonly unacknowledged: number;
}

/** How many alerts fire; the stream of the account says when to count again. */
function useCounts(): Counts | undefined {
  const mayRead = usePermission("alerts.read");
  const { data } = useQuery({
    queryKey: [...KEYS.alerts, "count"],
    queryFn: async ({ signal }) => call("GET /v1/alerts", { query: { limit: "1" }, signal }),
    enabled: mayRead,
  });
  return data;
}

function wordsOf({ firing, unacknowledged }: Counts): string {
  if (firing === 0) return "none open";
  const open = `${firing.toLocaleString("en")} open`;
  return unacknowledged === 0
    ? `${open}, all acknowledged`
    : `${open}, ${unacknowledged.toLocaleString("en")} not acknowledged`;
}

/** The number of open alerts beside the name of their page; nothing while there are none. */
export function AlertCount(): ReactNode {
  const counts = useCounts();
  return counts && counts.firing > 0 ? <Count counts={counts} /> : null;
}

function Count({ counts }: { readonly counts: Counts }): ReactNode {
  return (
    <span
      className={classes.count}
      data-kind={counts.unacknowledged > 0 ? "new" : "known"}
      title={`Alerts: ${wordsOf(counts)}`}
    >
      <span aria-hidden="true">{counts.firing > MAX_SHOWN ? `${MAX_SHOWN}+` : counts.firing}</span>
      <span className="visually-hidden">: {wordsOf(counts)}</span>
    </span>
  );
}

const MAX_SHOWN = 999;

/** The bell in the head of a narrow screen, whose navigation is closed. */
export function AlertBell(): ReactNode {
  const counts = useCounts();
  if (!counts) return null;
  return (
    <Link to="/alerts" className={classes.bell ?? ""} aria-label={`Alerts: ${wordsOf(counts)}`}>
      <Icon name="bell" size={20} />
      {counts.firing > 0 && <Count counts={counts} />}
    </Link>
  );
}
