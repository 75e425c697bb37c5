import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useSearchParams } from "react-router";
import type { AlertDelivery } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { Age } from "../../parts/age.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { State } from "../../parts/state.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import type { StateText } from "../../parts/target-states.ts";
import classes from "./alerts.module.css";

const STATES: Readonly<Record<AlertDelivery["state"], StateText>> = {
  delivered: { label: "delivered", kind: "good", icon: "check" },
  waiting: { label: "waiting", kind: "plain", icon: "clock" },
  failed: { label: "given up", kind: "bad", icon: "cross" },
};

const STATE_DATA = [
  { value: "", label: "any" },
  ...Object.entries(STATES).map(([value, { label }]) => ({ value, label })),
];

const COLUMNS: readonly Column<AlertDelivery>[] = [
  { header: "When", isNarrow: true, renderCell: ({ created_at: at }) => <Age at={at} /> },
  {
    header: "Message",
    renderCell: ({ text, group_id: group, type }) =>
      type === "test" ? (
        <SafeText text={text} max={300} />
      ) : (
        <Link to={`/alerts?group=${encodeURIComponent(group)}`}>
          <SafeText text={text} max={300} />
        </Link>
      ),
  },
  { header: "Channel", isNarrow: true, renderCell: ({ channel }) => channel },
  {
    header: "State",
    isNarrow: true,
    renderCell: ({ state, attempts }) => {
      const { label, kind, icon } = STATES[state];
      return (
        <State kind={kind} icon={icon}>
          {label}
          {attempts > 1 && `, ${attempts} attempts`}
        </State>
      );
    },
  },
  {
    header: "Answer",
    renderCell: ({ answer, answered_at: at }) =>
      answer === null ? (
        "none yet"
      ) : (
        <>
          <SafeText text={answer} max={200} />, <Age at={at} />
        </>
      ),
  },
];

/** What was sent in the last 30 days, where to, and what the other side answered. */
export function Deliveries(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const state = Object.keys(STATES).find((each) => each === parameters.get("state"));
  const deliveries = useInfiniteQuery({
    queryKey: [...KEYS.alertDeliveries, state],
    queryFn: ({ signal, pageParam }) =>
      call("GET /v1/alert-deliveries", { signal, query: { state, cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  return (
    <>
      <search className={classes.filters} aria-label="Filters">
        <NativeSelect
          label="State"
          data={STATE_DATA}
          value={state ?? ""}
          onChange={({ currentTarget: { value } }) =>
            setParameters({ view: "sent", ...(value !== "" && { state: value }) }, { replace: true })
          }
        />
      </search>
      <Loaded query={deliveries}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.deliveries);
          if (rows.length > 0)
            return (
              <Table
                label="Messages"
                columns={COLUMNS}
                rows={rows}
                keyOf={({ message_id: id, channel }) => `${id} ${channel}`}
              />
            );
          return state === undefined ? (
            <Empty title="Nothing was sent.">What is sent to channels is listed here for 30 days.</Empty>
          ) : (
            <Empty title="No message is in this state.">Others of the last 30 days are not shown.</Empty>
          );
        }}
      </Loaded>
      <MoreButton query={deliveries} />
    </>
  );
}
