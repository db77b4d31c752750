#!/usr/bin/env bash
# The packages as a registry would hold them: whole (licences, README, no reference data), their archives compile by themselves, and
# what they stand on may be used.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Benches and examples need what is not packed; the library, the command and what they stand on are checked.
packages=(core io minimal maximal motion golden study lab cli)
names=(leastaction "${packages[@]/#/leastaction-}")
cargo package --workspace --exclude leastaction-py --exclude leastaction-fuzz --no-verify --allow-dirty --quiet --target-dir "$work/target"

mkdir "$work/unpacked"
for name in "${names[@]}"; do
    archive=$(ls "$work/target/package/$name"-[0-9]*.crate)
    tar -xzf "$archive" -C "$work/unpacked"
    folder=$(basename "$archive" .crate)
    for file in LICENSE-MIT LICENSE-APACHE README.md Cargo.toml; do
        [ -s "$work/unpacked/$folder/$file" ] || { echo "$name lacks $file"; exit 1; }
    done
    for key in description license keywords categories; do
        grep -q "^$key = " "$work/unpacked/$folder/Cargo.toml" || { echo "$name does not say its $key"; exit 1; }
    done
    [ ! -e "$work/unpacked/$folder/tests" ] || { echo "$name packs its tests"; exit 1; }
    bytes=$(stat -c %s "$archive")
    [ "$bytes" -lt 1000000 ] || { echo "$name packs $bytes bytes"; exit 1; }
done

# A workspace of the unpacked archives alone: nothing of the repository is in reach.
{
    echo '[workspace]'
    echo 'resolver = "3"'
    echo 'members = ["leastaction*"]'
    echo '[patch.crates-io]'
    for folder in "$work"/unpacked/leastaction*; do
        name=$(basename "$folder")
        echo "${name%-[0-9]*} = { path = \"$name\" }"
    done
} > "$work/unpacked/Cargo.toml"
cp Cargo.lock "$work/unpacked/"
(cd "$work/unpacked" && LEASTACTION_NO_NPM=1 cargo check --quiet --package leastaction-cli --package leastaction \
    --target-dir "${CARGO_TARGET_DIR:-$root/target}/package-check")
scripts/supply_chain.py
echo "packages: ${#names[@]} whole and compiled from their archives"
