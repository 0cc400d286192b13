"""Where files come from: the folder that ``RANDSPAN_DATA`` names, a cache, or their public source.

A file is known by its name in the data folder, with the checksum of its contents (unpacked, so that
it does not matter how they were compressed). What is downloaded is unpacked, checked, and only then
put into the cache, in one step: there are no half files in it.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TRIES, SECONDS = 3, 30


class DataError(Exception):
    """A file that is not there, cannot be fetched, or is not what it should be."""


@dataclass(frozen=True)
class File:
    """A public file.

    Attributes
    ----------
    name : str
        In the data folder, where it may be compressed (``.gz``).
    url : str
        Where it is published.
    sha256 : str
        Of its contents.
    member : str
        Its name in the archive, where the address is one's.
    prepared : callable or None
        What is done to published contents: columns or lines that are left out.
    """

    name: str
    url: str
    sha256: str
    member: str = ""
    prepared: Callable[[bytes], bytes] | None = None


def _without_names(contents: bytes) -> bytes:
    """The COMPAS table without the columns that name people."""
    naming = {"id", "name", "first", "last", "dob", "c_case_number", "r_case_number"}
    naming.add("vr_case_number")
    rows = list(csv.reader(io.StringIO(contents.decode())))
    kept = [i for i, name in enumerate(rows[0]) if name not in naming]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([row[i] for i in kept] for row in rows)
    return out.getvalue().encode()


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
_DELVE = "https://www.cs.toronto.edu/~delve/data"
_KDD = "http://kdd.ics.uci.edu/databases/kddcup99"
_MNIST = "https://ossci-datasets.s3.amazonaws.com/mnist"
_GP = "https://raw.githubusercontent.com/treforevans/uci_datasets/master/uci_datasets"
_KEEL = "https://sci2s.ugr.es/keel/dataset/data/classification"
_WISDM = "https://www.cis.fordham.edu/wisdm/includes/datasets/latest/WISDM_ar_latest.tar.gz"
_AILERONS = "https://www.dcc.fc.up.pt/~ltorgo/Regression/ailerons.tgz"
_COMPAS = "https://raw.githubusercontent.com/propublica/compas-analysis/master"

# The addresses have not been tried by the tests, which never leave the machine; the checksums are
# those of genuine copies.
FILES = {
    file.name: file
    for file in (
        File(
            "a9a/a9a.gz",
            f"{_LIBSVM}/a9a",
            "7ba53cccb27e2e525f0fb173e1f446d49856e3fb007eb43be4ec6d0f5b3335ca",
        ),
        File(
            "a9a/a9a.t.gz",
            f"{_LIBSVM}/a9a.t",
            "1f448a153f0320399a7e40836eb207655b0bde0f21fc941cc472193daa9f5de9",
        ),
        File(
            "adult/adult.data.gz",
            f"{_UCI}/adult/adult.data",
            "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        ),
        File(
            "adult/adult.test.gz",
            f"{_UCI}/adult/adult.test",
            "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        ),
        *(
            File(
                f"census-house/{part}/Prototask.data.gz",
                f"{_DELVE}/census-house/census-house.tar.gz",
                sha256,
                f"house-price-{part}/Prototask.data",
            )
            for part, sha256 in {
                "16H": "7f2a0ec8a4e47be1152a47f3f1be12a25ad5f99cde4400d838110fc47671f5cf",
                "16L": "aaabf90a7c06fd977d185e51d7e6307cae384091e5c6760f5acc7c166e08de9f",
                "8H": "52aa3515b0e0e4fead8200b69cb540657452dd2967e0e3d37ab634adc88fe2cf",
                "8L": "4999376c9cd621beb6f0ec43f997fa94c18f5db03206cec2e690bf7ad349bfaa",
            }.items()
        ),
        File(
            "communities/communities.data.gz",
            f"{_UCI}/communities/communities.data",
            "09e0b5c07eae24c1efab19b2edee05e160e7f5743b6f31e31eec3d73624da2ea",
        ),
        File(
            "compas/compas-scores-two-years.csv.gz",
            f"{_COMPAS}/compas-scores-two-years.csv",
            "6a21caf16e042f056689f18fc0772b0d1ab45bbf7b6e487e8864e048e7479938",
            prepared=_without_names,
        ),
        File(
            "covtype/covtype.csv.gz",
            f"{_UCI}/covtype/covtype.data.gz",
            "0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
        ),
        File(
            "cpu/cpu.mat",
            "https://keysduplicated.com/~ali/random-features/data/cpu.mat",
            "c5f07c0c8f017985a8259430865c656a2d12558b2aa07d9caabc26cd07274ae2",
        ),
        File(
            "kddcup99/kddcup.data_10_percent.gz",
            f"{_KDD}/kddcup.data_10_percent.gz",
            "f8c8267ebcd9c0ed1fd7d6277fe5bfff8732e9b7db8e61b873542b2a534b6f9a",
        ),
        File(
            "kddcup99/corrected.gz",
            f"{_KDD}/corrected.gz",
            "547dfb9c0f0dc1d9944219ec79e851191faebaeb8acbfa1cd171c418397052a4",
        ),
        *(
            File(f"mnist/{name}.gz", f"{_MNIST}/{name}.gz", sha256)
            for name, sha256 in {
                "train-images-idx3-ubyte": (
                    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
                ),
                "train-labels-idx1-ubyte": (
                    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
                ),
                "t10k-images-idx3-ubyte": (
                    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"
                ),
                "t10k-labels-idx1-ubyte": (
                    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"
                ),
            }.items()
        ),
        *(
            File(f"tabular/{name}.csv.gz", f"{_GP}/{name}.csv.gz", sha256)
            for name, sha256 in {
                "kin40k/data": "72ad383c3281a7c85ac49cde9b9682d3e0181e24b1b8a6fe33fd9b993b7db16e",
                "kin40k/test_mask": (
                    "56908124080d079831505c36143ea4a6a0c635f480c0c1a07d7202063ca24acf"
                ),
                "protein/data": "6ccb1a6bf7e7ba40febe2b8226779cb62e4ca2fa4d193bdec8538c6b5f991ec5",
                "protein/test_mask": (
                    "7745295a642503ea0ef994841cbf352492e8fbf38b37c34473bb456f3ff13703"
                ),
                "elevators/data": (
                    "f9c478c8660cc92453acbf652310740975afed544ca8c0e81145cec18dbc3ea9"
                ),
                "elevators/test_mask": (
                    "f69ae7da82f6196b7e4f840d93162562235b84092089a40a98eff45a23c70b3d"
                ),
                "pol/data": "1f4370e9c9448dc537601710d8744d3ea8f5532b93512288c27abb50120f367c",
                "pol/test_mask": "48310e321c1299e631433261a2e3e4c9646f2ebdac613b9db5711b4d2b1e125f",
            }.items()
        ),
        File(
            "tabular/cal_housing.data.gz",
            "https://ndownloader.figshare.com/files/5976036",
            "d3d8a1a722ae78f91134862727d27a70b1415e7d512a89140406248687f4b902",
            "CaliforniaHousing/cal_housing.data",
        ),
        File(
            "tabular/bike_hour.csv.gz",
            f"{_UCI}/00275/Bike-Sharing-Dataset.zip",
            "e03de4ee4ef4dc376ac6e04bf829673c6269e8eba5c60fa121640fa2f829504f",
            "hour.csv",
        ),
        File(
            "tabular/letter.dat.gz",
            f"{_KEEL}/letter.zip",
            "8ff8ec650859678e78cf6c4c4cf5063a5fdf39b5b938bc0c1406116d1e23f4fa",
            "letter.dat",
        ),
        File(
            "tabular/magic.dat.gz",
            f"{_KEEL}/magic.zip",
            "e9314b7ebd4b4b59a3b3d65f7316663963777b16a46786877651dbbaa640b36a",
            "magic.dat",
        ),
        File(
            "tabular/ailerons.data.gz",
            _AILERONS,
            "33d59cf13aa900fb6a7bae6f2d3f8a6831863f161838ec7916775b9230fc7b38",
            "Ailerons/ailerons.data",
        ),
        File(
            "tabular/ailerons.test.gz",
            _AILERONS,
            "dde7f67d21485ee2b8c60d660a4ebc479b4264a30e9afd2fc3607ba31f5b17f5",
            "Ailerons/ailerons.test",
        ),
        File(
            "wisdm/WISDM_ar_v1.1_transformed_with_ids_noheader.arff.gz",
            _WISDM,
            "0cba57836da30d4142c574881f4dc64b93f351cdbe47057abb13e0e73e5ea4ab",
            "WISDM_ar_v1.1/WISDM_ar_v1.1_transformed_with_ids_noheader.arff",
        ),
    )
}


def contents(name: str, download: bool = True) -> bytes:
    """A file's contents, unpacked: from the data folder, the cache, or its public source.

    Parameters
    ----------
    name : str
        As in `FILES`.
    download : bool, default=True
        Whether it may be fetched.
    """
    folder = os.environ.get("RANDSPAN_DATA")
    if folder:
        if not Path(folder).is_dir():
            raise DataError(
                f"RANDSPAN_DATA={folder!r} is no folder: correct it, or unset it to have files "
                "downloaded."
            )
        path = Path(folder) / name
        if path.exists():
            return _unpacked(path.read_bytes(), str(path))
    file = FILES[name]
    cached = cache() / name.removesuffix(".gz")
    if cached.exists():
        found = cached.read_bytes()
        if hashlib.sha256(found).hexdigest() == file.sha256:
            return found
        cached.unlink()  # somebody else wrote there
    if not download:
        where = f"{folder} (RANDSPAN_DATA)" if folder else "RANDSPAN_DATA, which is not set"
        raise DataError(
            f"{name} is neither in {where}, nor in the cache {cache()}; download=True fetches it "
            f"from {file.url}."
        )
    found = _fetched(file)
    _kept(found, cached)
    return found


def cache() -> Path:
    """The folder that downloads are kept in: ``RANDSPAN_CACHE``, or the system's."""
    named = os.environ.get("RANDSPAN_CACHE")
    return Path(named) if named else Path(_pooch().os_cache("randspan"))


def _pooch():
    try:
        import pooch
    except ModuleNotFoundError:
        raise DataError(
            "Downloads need pooch: pip install 'randspan[datasets]'; or set RANDSPAN_DATA to a "
            "folder that has the files."
        ) from None
    return pooch


def _fetched(file: File) -> bytes:
    """The contents that its address serves, unpacked and checked."""
    pooch = _pooch()
    load = pooch.HTTPDownloader(progressbar=True, timeout=SECONDS)
    reason: Exception | None = None
    for _ in range(TRIES):
        with tempfile.TemporaryDirectory() as folder:
            raw = Path(folder) / "download"
            try:
                load(file.url, str(raw), None)
                served = raw.read_bytes()
            except Exception as error:  # of many libraries, for as many reasons
                reason = error
                continue
        found = _unpacked(_member(served, file), file.url)
        if file.prepared is not None:
            found = file.prepared(found)
        seen = hashlib.sha256(found).hexdigest()
        if seen != file.sha256:
            raise DataError(
                f"{file.url} serves something else than {file.name} was: its checksum is {seen}, "
                f"not {file.sha256}. Nothing was kept. Put the file into a folder and set "
                "RANDSPAN_DATA to it, if you have it from elsewhere."
            )
        return found
    raise DataError(
        f"{file.url} could not be downloaded ({TRIES} tries; the last ended with {reason!r}). "
        "Nothing was kept. Try again later, or set RANDSPAN_DATA to a folder that has the file."
    )


def _member(served: bytes, file: File) -> bytes:
    """The file itself, where an archive was served."""
    if not file.member:
        return served
    try:
        if zipfile.is_zipfile(io.BytesIO(served)):
            with zipfile.ZipFile(io.BytesIO(served)) as archive:
                return archive.read(file.member)
        with tarfile.open(fileobj=io.BytesIO(served)) as archive:
            for name in (file.member, f"{file.member}.gz"):
                if name in archive.getnames():
                    inner = archive.extractfile(name)
                    assert inner is not None
                    return inner.read()
    except (tarfile.TarError, zipfile.BadZipFile, KeyError, EOFError, zlib.error) as error:
        raise DataError(f"{file.url} is no archive that holds {file.member}: {error}.") from None
    raise DataError(f"{file.url} is an archive without {file.member}.")


def _unpacked(found: bytes, where: str) -> bytes:
    if found[:2] != b"\x1f\x8b":
        return found
    try:
        return gzip.decompress(found)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{where} is damaged or only a part of the file ({error}): fetch it again."
        ) from None


def _kept(found: bytes, path: Path) -> None:
    """Written beside its place and moved there: whoever looks sees all of it, or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(found)
    os.replace(part.name, path)
