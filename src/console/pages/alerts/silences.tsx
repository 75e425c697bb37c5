import { Anchor, Code, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { Silence } from "../../../protocol/api-types.ts";
import { call } from "../../api/client.ts";
import { toFailure } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { conditionTitle } from "../../parts/alert-words.ts";
import { Empty } from "../../parts/empty.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { PendingButton } from "../../parts/form.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";

const COLUMNS: readonly Column<Silence>[] = [
  { header: "Reason", renderCell: ({ reason }) => <SafeText text={reason} max={256} /> },
  {
    header: "Alerts",
    renderCell: ({ conditions, selector, asset }) => (
      <>
        {conditions === null ? "every condition" : conditions.map(conditionTitle).join(", ")}
        <Text size="xs" c="dimmed" component="div">
          {asset !== null ? (
            <Anchor component={Link} to={`/assets/${encodeURIComponent(asset.id)}`} inherit underline="always">
              <SafeText text={asset.name} max={120} />
            </Anchor>
          ) : selector === "*" ? (
            "all assets"
          ) : (
            <>
              assets with{" "}
              <Code>
                <SafeText text={selector} max={200} />
              </Code>
            </>
          )}
        </Text>
      </>
    ),
  },
  { header: "Ends", isNarrow: true, renderCell: ({ until }) => <Age at={until} /> },
  {
    header: "By",
    renderCell: ({ created_by: by, created_at: at }) => (
      <>
        <SafeText text={by} max={80} />, <Age at={at} />
      </>
    ),
  },
];

/** The silences that have not ended, each with a button that ends it. */
export function Silences(): ReactNode {
  const mayManage = usePermission("alerts.manage");
  const silences = useInfiniteQuery({
    queryKey: KEYS.silences,
    queryFn: ({ signal, pageParam }) => call("GET /v1/silences", { signal, query: { cursor: pageParam } }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const end: Column<Silence> = {
    header: "Actions",
    hidesHeader: true,
    isNarrow: true,
    renderCell: (silence) => <EndButton silence={silence} />,
  };
  return (
    <>
      <Loaded query={silences}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.silences);
          if (rows.length > 0)
            return (
              <Table
                label="Silences"
                columns={mayManage ? [...COLUMNS, end] : COLUMNS}
                rows={rows}
                keyOf={({ id }) => id}
              />
            );
          return (
            <Empty title="Nothing is silenced.">
              A silence keeps messages back for a time, as while people work at a site. It begins with the button beside
              an open alert.
            </Empty>
          );
        }}
      </Loaded>
      <MoreButton query={silences} />
    </>
  );
}

/** Ends a silence before its time. */
export function EndButton({ silence: { id, reason } }: { readonly silence: Silence }): ReactNode {
  const client = useQueryClient();
  const end = useMutation({
    mutationFn: () => call("DELETE /v1/silences/{silence_id}", { path: { silence_id: id } }),
    onSettled: () => client.invalidateQueries({ queryKey: KEYS.silences }),
  });
  return (
    <div>
      <PendingButton size="xs" variant="default" loading={end.isPending} onClick={() => end.mutate()}>
        End now<span className="visually-hidden"> {reason}</span>
      </PendingButton>
      {end.error && <FailureNote failure={toFailure(end.error)} />}
    </div>
  );
}
