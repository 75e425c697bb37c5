import { Button, Checkbox, Group, Stack, Text } from "@mantine/core";
import { type ReactNode, useMemo, useState } from "react";
import { Link, useSearchParams } from "react-router";
import { toFailure } from "../../api/failure.ts";
import { usePermission } from "../../api/session.ts";
import { Age } from "../../parts/age.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty } from "../../parts/empty.tsx";
import { FailureNote } from "../../parts/failure-note.tsx";
import { Loading } from "../../parts/loaded.tsx";
import { PageTitle } from "../../parts/page-title.tsx";
import { AssetTable } from "./asset-table.tsx";
import { type ColumnId, COLUMNS, readColumns, toggleColumn, writeColumns } from "./columns.ts";
import { FilterBar } from "./filter-bar.tsx";
import { type AssetFilters, hasFilters, NO_FILTERS, readFilters, toParameters } from "./filters.ts";
import { useAssetList } from "./use-asset-list.ts";

const COLUMNS_KEY = "assets-columns";

/** All assets: filtered by the address of the page, in virtual rows. */
export function AssetsPage(): ReactNode {
  const [parameters, setParameters] = useSearchParams();
  const filters = readFilters(parameters);
  const setFilters = (next: AssetFilters): void => setParameters(toParameters(next), { replace: true });
  const list = useAssetList(filters);
  const [columns, setColumns] = useKeptColumns();
  const [isChoosing, setChoosing] = useState(false);
  const mayRegister = usePermission("assets.register");
  const { data, error, refetch, dataUpdatedAt, hasNextPage, isPlaceholderData } = list;
  const pages = data?.pages;
  // The page renders for more than new rows, and there may be 100,000 of them.
  const rows = useMemo(() => pages?.flatMap(({ assets }) => assets), [pages]);
  return (
    <>
      <PageTitle
        title="Assets"
        actions={
          <>
            <Button variant="default" onClick={() => setChoosing(true)}>
              Columns
            </Button>
            {mayRegister && (
              <Button component={Link} to="/enrol">
                Enrol a device
              </Button>
            )}
          </>
        }
      />
      <Stack gap="sm">
        <FilterBar filters={filters} onChange={setFilters} />
        {rows === undefined && !error && <Loading label="Loading the assets" />}
        {error !== null && <FailureNote failure={toFailure(error)} onRetry={() => void refetch()} />}
        {rows?.length === 0 && <NoAssets isFiltered={hasFilters(filters)} onClear={() => setFilters(NO_FILTERS)} />}
        {rows !== undefined && rows.length > 0 && (
          <>
            <AssetTable rows={rows} columns={columns} list={list} />
            <Text size="xs" c="dimmed" role="status">
              {isPlaceholderData ? "Searching …" : countText(rows.length, hasNextPage)}
              {". As of "}
              <Age at={dataUpdatedAt / 1000} />.
            </Text>
          </>
        )}
      </Stack>
      <Dialog isOpen={isChoosing} onClose={() => setChoosing(false)} label="Columns">
        <Stack gap="xs">
          {COLUMNS.map(({ id, label }) => (
            <Checkbox
              key={id}
              label={label}
              checked={columns.includes(id)}
              disabled={id === "name"}
              onChange={() => setColumns(toggleColumn(columns, id))}
            />
          ))}
          <Group justify="end">
            <Button onClick={() => setChoosing(false)}>Done</Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  );
}

function countText(count: number, hasMore: boolean): string {
  const number = count.toLocaleString("en");
  return hasMore ? `${number} loaded, and more as you scroll` : `${number} ${count === 1 ? "asset" : "assets"}`;
}

function NoAssets({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }): ReactNode {
  if (isFiltered)
    return (
      <Empty title="No asset matches." action={<Button onClick={onClear}>Show all assets</Button>}>
        Search looks in names and serial numbers. Filters narrow the list further.
      </Empty>
    );
  return (
    <Empty title="There are no assets yet." action={<Link to="/enrol">Enrol a device</Link>}>
      An asset is a gateway with its SIM cards. Register one, and give its device the code that the page shows.
    </Empty>
  );
}

function useKeptColumns(): [readonly ColumnId[], (columns: readonly ColumnId[]) => void] {
  const [columns, setColumns] = useState(() => readColumns(localStorage.getItem(COLUMNS_KEY)));
  return [
    columns,
    (next) => {
      localStorage.setItem(COLUMNS_KEY, writeColumns(next));
      setColumns(next);
    },
  ];
}
