import { Button, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../../api/client.ts";
import { KEYS } from "../../api/keys.ts";
import { usePermission } from "../../api/session.ts";
import type { Fleet, Revision } from "../../../protocol/api-types.ts";
import { Age } from "../../parts/age.tsx";
import { Loaded } from "../../parts/loaded.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { SafeText } from "../../parts/safe-text.tsx";
import { type Column, Table } from "../../parts/table.tsx";
import { DiffDialog } from "./diff-dialog.tsx";
import { RollOutDialog } from "./roll-out-dialog.tsx";
import { formatImage } from "./short-image.ts";

/** What is done with a revision in a dialog. */
interface Asked {
  readonly what: "roll_out" | "diff";
  readonly number: number;
}

/** The revisions of a fleet, newest first. */
export function Revisions({ fleet }: { readonly fleet: Fleet }): ReactNode {
  const mayRollOut = usePermission("fleets.roll_out");
  const [asked, setAsked] = useState<Asked>();
  const revisions = useInfiniteQuery({
    queryKey: [...KEYS.fleets, "revisions", fleet.name],
    queryFn: ({ signal, pageParam }) => {
      const query = { limit: "10", cursor: pageParam };
      return call("GET /v1/fleets/{fleet}/revisions", { path: { fleet: fleet.name }, signal, query });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  });
  const actions: Column<Revision> = {
    header: "Actions",
    hidesHeader: true,
    isNarrow: true,
    renderCell: ({ number }) => (
      <Button.Group>
        {number > 1 && (
          <Button size="xs" variant="default" onClick={() => setAsked({ what: "diff", number })}>
            Compare<span className="visually-hidden"> revision {number}</span>
          </Button>
        )}
        {mayRollOut && (
          <Button size="xs" variant="default" onClick={() => setAsked({ what: "roll_out", number })}>
            Roll out revision {number}
          </Button>
        )}
      </Button.Group>
    ),
  };
  const close = (): void => setAsked(undefined);
  return (
    <section aria-labelledby="revisions">
      <Title order={2} id="revisions" mb="xs">
        Revisions
      </Title>
      <Loaded query={revisions}>
        {({ pages }) => {
          const rows = pages.flatMap((page) => page.revisions);
          if (rows.length === 0) return <Text size="sm">There is no revision yet.</Text>;
          const columns = [...COLUMNS, actions];
          return <Table label="Revisions" columns={columns} rows={rows} keyOf={({ number }) => String(number)} />;
        }}
      </Loaded>
      <MoreButton query={revisions} />
      {asked?.what === "diff" && <DiffDialog fleet={fleet} number={asked.number} onClose={close} />}
      {asked?.what === "roll_out" && <RollOutDialog fleet={fleet} revision={asked.number} onClose={close} />}
    </section>
  );
}

const COLUMNS: readonly Column<Revision>[] = [
  { header: "Revision", isNarrow: true, renderCell: ({ number }) => number },
  {
    header: "What is new",
    renderCell: ({ comment }) => (comment === null ? "–" : <SafeText text={comment} max={512} />),
  },
  {
    header: "Images",
    renderCell: ({ apps }) =>
      apps.map(({ name, image, written_image: written }) => (
        <Text key={name} size="sm" component="div">
          <SafeText text={`${name}: ${written === null ? "absent" : formatImage(written, image)}`} max={300} />
        </Text>
      )),
  },
  { header: "Agent", isNarrow: true, renderCell: ({ agent }) => agent?.version ?? "–" },
  { header: "Made", isNarrow: true, renderCell: ({ created_at: at }) => <Age at={at} /> },
  { header: "By", renderCell: ({ created_by: by }) => <SafeText text={by.name ?? by.id} max={200} /> },
];
